"""Lines in cells -> text, with the cells of neighbours below each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from .layout import Line


def text_of(lines: list[Line]) -> str:
    """The text of a file.

    Neighbours are lines of one kind and depth without a blank line between them; comments on lines of
    their own part nobody.
    """
    for run in _runs(lines, lambda line: (line.kind, line.indent)):
        _align(run)
    written = {id(line): "".join(line.cells) for line in lines}
    for run in _runs(lines, lambda line: (line.kind == "text", line.indent)):
        _align_comments(run, written)
    return "".join(map(_shown, lines, written.values()))


def _shown(line: Line, code: str) -> str:
    above = "\n" if line.blank else ""
    return f"{above}{' ' * line.indent}{code}\n"


def _runs(lines: Iterable[Line], alike: Callable[[Line], object]) -> Iterator[list[Line]]:
    """Stretches of lines that are alike, comments between them left out."""
    run: list[Line] = []
    for line in lines:
        if run and (line.blank or (line.kind != "comment" and alike(line) != alike(run[0]))):
            yield run
            run = []
        if line.kind != "comment":
            run.append(line)
    if run:
        yield run


def _align(run: list[Line]) -> None:
    """Pads the cells of neighbours; a cell of "text" stands alone."""
    for column in range(max(len(line.cells) for line in run) - 1):
        padded = [line for line in run if len(line.cells) > column + 1]
        width = max(len(line.cells[column]) for line in padded)
        for line in padded:
            line.cells[column] = line.cells[column].ljust(width + 1)


def _align_comments(run: list[Line], written: dict[int, str]) -> None:
    """Puts the comments behind neighbours below each other, two spaces from the longest."""
    commented = [line for line in run if line.comment]
    alone = run[0].kind == "text"
    widest = max((len(written[id(line)]) for line in commented), default=0)
    for line in commented:
        code = written[id(line)]
        written[id(line)] = f"{code if alone else code.ljust(widest)}  {line.comment}"
