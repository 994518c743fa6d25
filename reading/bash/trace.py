"""The commands of a script in the order of a run, with words, places and what starts them.

Both ways of an undecided test are in it. The other way of a decided one, and functions that nothing calls,
are not: no run executes them.
"""

from __future__ import annotations

from typing import NamedTuple

from .values import Text, Word

#: Commands of one reading; a loop that goes round more often adds no more.
MOST_COMMANDS = 3_000
#: Assignments of one reading, and variables that it expands.
MOST_ASSIGNMENTS, MOST_EXPANSIONS = 3_000, 20_000


class Expansion(NamedTuple):
    """A variable that a shell expands: `rest` is what stands behind its name in the braces, as `:-8` or
    `[0]`, `length` covers its name and the `$` or `${` before it."""

    name: str
    rest: str
    path: str
    line: int
    column: int
    length: int


class Assignment(NamedTuple):
    """`NAME=value` or `NAME=( ... )`, the latter with `elements`. `before` commands of the trace run earlier,
    `reads` are the variables in its value, `exported` says whether programs see it."""

    name: str
    value: Text
    elements: tuple[Text, ...] | None
    exported: bool
    place: tuple[str, int, int]
    scripts: tuple[str, ...]
    before: int
    reads: tuple[Expansion, ...]


class TracedCommand(NamedTuple):
    """One command after expansion, without what starts it.

    `wrappers` are the commands before it on its line, `srun` and `env` with their options, and `outer` those
    that started its script or its `bash -c` text, outermost first. `scripts` are the files that led here,
    `place` is where the line is written: path, line, column. `captured`: a substitution, a pipe or a file
    takes its output. `opens` are the files that redirections open for it to write to, and `/dev` is none.
    `background`: the shell does not wait for it. `called`: a function has it. `signals` are those whose trap
    runs it, `ERR` where it runs when another command fails. `reads` are the variables that the shell expands
    in its words.
    """

    words: tuple[Word, ...]
    wrappers: tuple[tuple[Word, ...], ...]
    outer: tuple[tuple[Word, ...], ...]
    scripts: tuple[str, ...]
    place: tuple[str, int, int]
    captured: bool = False
    opens: tuple[Word, ...] = ()
    background: bool = False
    called: bool = False
    signals: tuple[str, ...] = ()
    reads: tuple[Expansion, ...] = ()

    @property
    def programs(self) -> tuple[str, ...]:
        """The names of what starts it, outermost first, and its own."""
        started = (*self.outer, *self.wrappers, self.words)
        return tuple(program(words[0]) for words in started)

    @property
    def step(self) -> tuple[Word, ...] | None:
        """The words of the srun that starts it, the innermost of several."""
        started = reversed((*self.outer, *self.wrappers))
        return next((words for words in started if program(words[0]) == "srun"), None)


def program(word: Word) -> str:
    """The program that a word names, without its folder; every Python 3 is `python3`."""
    tail = word.tail.rpartition("/")[2]
    return "python3" if tail.startswith("python3.") else tail


def signal_name(text: str) -> str:
    """`USR1` of `SIGUSR1`, `usr1` or `10`."""
    name = text.upper().removeprefix("SIG")
    return _NUMBERS.get(name, name)


_NUMBERS = {"0": "EXIT", "1": "HUP", "2": "INT", "10": "USR1", "12": "USR2", "15": "TERM"}
