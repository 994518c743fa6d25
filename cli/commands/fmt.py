"""give job files their canonical form; what they say stays the same"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from pathlib import Path

from parc.dsl import codes
from parc.dsl.diagnostics import Diagnostic, JobError, Source, Span

from ..printing.terminal import print_diagnostics, print_json
from ..writing.output_folder import Change
from .job_arguments import STANDARD_INPUT, add_json, standard_input

NAME = "fmt"
SUFFIX = ".par"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="FILE",
        help="a job file, a folder to search for *.par, or - for standard input",
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit code 1 if a file would change"
    )
    parser.add_argument(
        "--diff", action="store_true", help="write nothing; print what would change"
    )
    add_json(parser)


def run(arguments: Namespace) -> int:
    changes: list[Change] = []
    complaints: list[Diagnostic] = []
    for path in _files(arguments.paths, complaints):
        try:
            changes.append(_change(path))
            _deal_with(changes[-1], arguments)
        except JobError as error:
            complaints += error.diagnostics
    unformatted = [change for change in changes if change.before != change.after]
    if arguments.json:
        print_json([{"path": each.path, "changed": each in unformatted} for each in changes])
    print_diagnostics([*complaints, *(map(_unformatted, unformatted) if arguments.check else ())])
    return 2 if complaints else int(arguments.check and bool(unformatted))


def _files(paths: Iterable[str], complaints: list[Diagnostic]) -> Iterator[str]:
    """Each file once, those of a folder by name; adds a complaint for a folder without any."""
    seen: set[str] = set()
    for path in paths:
        found = list(_below(path)) if os.path.isdir(path) else [path]
        if not found:
            message = f"the folder `{path}` holds no {SUFFIX} file"
            complaints.append(Diagnostic(codes.UNREADABLE, message, help="name the job files"))
        for file in found:
            if (place := os.path.realpath(file)) not in seen or file == STANDARD_INPUT:
                seen.add(place)
                yield file


def _below(folder: str) -> Iterator[str]:
    """The job files in a folder; those in hidden ones are left out, and links to folders are not followed."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (os.path.join(place, name) for name in sorted(files) if name.endswith(SUFFIX))


def _change(path: str) -> Change:
    """The change that formatting makes to a file; its byte order mark stays."""
    from parc.dsl.formatting.canonical import formatted
    from parc.dsl.syntax.sources import decode, read

    if path == STANDARD_INPUT:
        before = standard_input()
        source = Source("<stdin>", decode(before, "<stdin>"))
    else:
        source, before = read(path, path)
    mark = BOM_UTF8 if before.startswith(BOM_UTF8) else b""
    return Change(source.name, before, mark + formatted(source).encode())


def _deal_with(change: Change, arguments: Namespace) -> None:
    """Writes a file, or prints its changes, or neither; standard input always goes to standard output."""
    if arguments.diff:
        if change.before != change.after and not arguments.json:
            sys.stdout.write(change.diff())
    elif arguments.check:
        return
    elif change.path == "<stdin>":
        if not arguments.json:
            sys.stdout.write((change.after or b"").decode())
    elif change.before != change.after:
        _write(change)
        print(f"formatted {change.path}", file=sys.stderr)


def _write(change: Change) -> None:
    from ..writing.single_file import rewrite

    rewrite(Path(change.path), change.before or b"", change.after or b"")


def _unformatted(change: Change) -> Diagnostic:
    """The complaint of `--check`, at the first line that would change."""
    from ..printing.words.command_paths import argument

    before, after = (
        (text or b"").decode().splitlines(True) for text in (change.before, change.after)
    )
    same = next(
        (n for n, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]),
        min(len(before), len(after)),
    )
    start = sum(map(len, before[:same]))
    end = start + len(before[same].rstrip("\r\n")) if same < len(before) else start
    source = Source(change.path, "".join(before))
    message = f"`{change.path}` is not in canonical form"
    span = Span(source, start, end)
    return Diagnostic(codes.UNFORMATTED, message, span, help=f"`parc fmt {argument(change.path)}`")
