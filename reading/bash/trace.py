"""The commands of a script in the order of a run, with words, places and what starts them.

Both ways of an undecided test are in it. The other way of a decided one, and functions that nothing calls,
are not: no run executes them.
"""

from __future__ import annotations

from typing import NamedTuple

from .values import Word

#: Commands of one reading; a loop that goes round more often adds no more.
MOST_COMMANDS = 3_000


class TracedCommand(NamedTuple):
    """One command after expansion, without what starts it.

    `wrappers` are the commands before it on its line, `srun` and `env` with their options, and `outer` those
    that started its script or its `bash -c` text, outermost first. `scripts` are the files that led here,
    `place` is where the line is written: path, line, column. `captured`: a substitution, a pipe or a file
    takes its output. `opens` are the files that redirections open for it to write to, and `/dev` is none.
    """

    words: tuple[Word, ...]
    wrappers: tuple[tuple[Word, ...], ...]
    outer: tuple[tuple[Word, ...], ...]
    scripts: tuple[str, ...]
    place: tuple[str, int, int]
    captured: bool = False
    opens: tuple[Word, ...] = ()

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
