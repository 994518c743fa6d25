"""Results to stdout, diagnostics and progress to stderr; colour only on a terminal."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, TextIO

from parc.dsl.diagnostics import Diagnostic, render

from .words.paragraphs import filled, reflowed

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

#: Columns at which diagnostics are wrapped at the least.
_NARROWEST = 40
_STYLES = {"error": "bold red", "warning": "bold yellow", "info": "bold cyan"}


def print_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    """Print diagnostics to stderr, a blank line between two."""
    if not (found := list(dict.fromkeys(diagnostics))):
        return
    if not _coloured(sys.stderr):
        width = line_width(sys.stderr)
        print("\n\n".join(render(each, width) for each in found), file=sys.stderr)
        return
    console = _console(sys.stderr)
    for index, diagnostic in enumerate(found):
        console.print(*([""] if index else []), _styled(diagnostic), sep="\n")


def line_width(stream: TextIO) -> int | None:
    """Columns of the lines of diagnostics on a terminal; None in a pipe or file, where each is read as a line
    by programs."""
    if not stream.isatty():
        return None
    return max(_NARROWEST, shutil.get_terminal_size((80, 24)).columns)


def print_text(text: str | Text) -> None:
    """Print a result to stdout."""
    if isinstance(text, str) or not _coloured(sys.stdout):
        print(text)
    else:
        _console(sys.stdout).print(text)


def print_entry(head: str, text: str) -> None:
    """Print a line of a list: on a terminal as wide as that, by words, in a pipe or file as one line."""
    fits = line_width(sys.stdout) is None
    print(head + text if fits else "\n".join(filled(head, text.split(" "))))


def print_page(page: str) -> None:
    """Print a page of Markdown: on a terminal its paragraphs are as wide as that, its code stays as it is."""
    print(page if line_width(sys.stdout) is None else "\n".join(reflowed(page)))


def print_json(value: object) -> None:
    """Print a result as indented JSON to stdout."""
    print(json.dumps(value, indent=2, ensure_ascii=False))


def progress(what: object) -> AbstractContextManager[object]:
    """A spinner with the text of an object, which may change, on stderr while the context lasts; nothing
    where stderr is no terminal."""
    if not sys.stderr.isatty():
        return nullcontext()
    return _console(sys.stderr).status(_Current(what))


@contextmanager
def progress_bar(what: str, total: int, done: int) -> Iterator[Callable[[], object]]:
    """A bar of `done` of `total` on stderr while the context lasts, nothing where stderr is no terminal; what
    it gives is called as each one is done."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich import progress as parts

    columns = (
        parts.TextColumn("{task.description}"),
        parts.BarColumn(),
        parts.MofNCompleteColumn(),
        parts.TimeRemainingColumn(),
    )
    with parts.Progress(*columns, console=_console(sys.stderr), transient=True) as bar:
        task = bar.add_task(what, total=total, completed=done)
        yield lambda: bar.advance(task)


class _Current:
    """The line that a terminal shows of an object: its text at the time, on one line."""

    def __init__(self, what: object):
        self._what = what

    def __rich__(self) -> Text:
        from rich.text import Text

        return Text(str(self._what), overflow="ellipsis", no_wrap=True)


def _coloured(stream: TextIO) -> bool:
    """Whether a stream is a terminal whose user has not set NO_COLOR (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR")


def _console(file: TextIO) -> Console:
    from rich.console import Console

    return Console(file=file, highlight=False, soft_wrap=True)


def _styled(diagnostic: Diagnostic) -> Text:
    from rich.text import Text

    text = Text(render(diagnostic, line_width(sys.stderr)))
    text.highlight_regex(r"\A\w+\[\w+\]", _STYLES[diagnostic.severity])
    text.highlight_regex(r"(?m)^[^\S\n]*\| +\^+$", "red")
    text.highlight_regex(r"(?m)^ +(= \w+:|-->)|^ *\d* \|", "blue")
    return text
