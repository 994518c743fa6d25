"""The command behind a lens: solves a job's text in a process of its own, which ends when the
text changes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

#: Seconds after which a search is given up.
LIMIT = 60.0
SOLVING, LATE, FAILED = "solving ...", f"not solved within {LIMIT:.0f} s", "could not be solved"


@dataclass
class Solver:
    """The lenses of open documents by URI. `command` and a path start a process that reads a job on its
    standard input and answers with JSON: a line for each target."""

    command: Sequence[str]
    _running: dict[str, asyncio.subprocess.Process | None] = field(default_factory=dict)
    _found: dict[str, tuple[str, Mapping[str, str]]] = field(default_factory=dict)

    def line(self, uri: str, target: str, text: str) -> str:
        """The line that the lens of a target shows of a text."""
        if uri in self._running:
            return SOLVING
        of, lines = self._found.get(uri, ("", {}))
        return (lines.get(target) or lines.get("") or "solve") if of == text else "solve"

    def forget(self, uri: str) -> None:
        """The text has changed or is closed: ends the process that solves it, and drops what was found."""
        process = self._running.pop(uri, None)
        self._found.pop(uri, None)
        if process is not None and process.returncode is None:
            process.kill()

    async def solve(self, uri: str, path: str, text: str) -> Mapping[str, str]:
        """A line for each target; empty where the text changed meanwhile."""
        self.forget(uri)
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *self.command, path, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL
        )
        self._running[uri] = process
        try:
            answer, _ = await asyncio.wait_for(process.communicate(text.encode()), LIMIT)
            lines: Mapping[str, str] = json.loads(answer)
        except TimeoutError:
            lines = {"": LATE}
        except (OSError, ValueError):
            lines = {"": FAILED}
        finally:
            if process.returncode is None:
                process.kill()
        if self._running.get(uri) is not process:
            return {}
        del self._running[uri]
        self._found[uri] = (text, lines)
        return lines
