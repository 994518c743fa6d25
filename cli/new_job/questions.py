"""Questions on a terminal, where there is one to answer them."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import TextIO


@dataclass(frozen=True)
class Terminal:
    """Questions go to stderr, so that stdout holds results alone."""

    answers: TextIO
    questions: TextIO

    @classmethod
    def present(cls) -> Terminal | None:
        """None where input or questions would go to a file or a pipe."""
        both = sys.stdin, sys.stderr
        if any(stream is None or not stream.isatty() for stream in both):
            return None
        return cls(*both)

    def ask(self, question: str) -> str:
        """The answer without spaces around it, empty for a bare return and at the end of input."""
        self.questions.write(f"{question}: ")
        self.questions.flush()
        return self.answers.readline().strip()

    @staticmethod
    def is_path(answer: str) -> bool:
        """Whether an answer names a file or folder, and no entry of the standard library."""
        return os.sep in answer or answer.endswith(".json") or os.path.exists(answer)
