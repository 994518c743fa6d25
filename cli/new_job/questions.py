"""Questions on a terminal, where there is one to answer them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO, TypeVar

from parc.dsl.diagnostics import JobError

from ..printing.terminal import print_diagnostics

Answer = TypeVar("Answer")


@dataclass
class Terminal:
    """Questions go to stderr, so that stdout holds results alone."""

    answers: TextIO
    questions: TextIO
    ended: bool = False

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
        line = self.answers.readline()
        self.ended = not line
        return line.strip()

    def answer(self, question: str, read: Callable[[str], Answer]) -> Answer:
        """The first answer that `read` takes; a complaint is shown, and the question asked again. Raises the
        complaint at the end of input."""
        while True:
            said = self.ask(question)
            try:
                return read(said)
            except JobError as error:
                if self.ended:
                    raise
                print_diagnostics(error.diagnostics)
