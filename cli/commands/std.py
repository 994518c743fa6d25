"""list the standard library, or print one entry of it"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from parc.dsl.diagnostics import Diagnostic, JobError, did_you_mean

from .. import codes
from ..printing.terminal import print_entry, print_json, print_text
from .job_arguments import add_json

if TYPE_CHECKING:
    from parc.dsl.library import StdEntry

NAME = "std"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="one entry, such as h100_pod")
    add_json(parser)


def run(arguments: Namespace) -> int:
    from parc.dsl import std_entries

    entries = std_entries()
    if arguments.name is not None:
        entries = _named(entries, arguments.name.removeprefix("std."))
    if arguments.json:
        print_json([_json(entry) for entry in entries])
    elif arguments.name is not None:
        print_text("\n\n".join(definition(entry) for entry in entries))
    else:
        width = max(len(entry.name) for entry in entries)
        for entry in entries:
            print_entry(f"{entry.kind:<8} {entry.name:<{width}}  ", f"{entry.doc}{_also(entry)}")
    return 0


def _named(entries: list[StdEntry], name: str) -> list[StdEntry]:
    from parc.dsl.library import canonical

    wanted = canonical(name)
    found = [entry for entry in entries if wanted in map(canonical, (entry.name, *entry.aliases))]
    if not found:
        known = [entry.name for entry in entries]
        message = f"the standard library has no `{name}`"
        help_text = did_you_mean(name, known) or "`parc std` lists it"
        raise JobError([Diagnostic(codes.NO_STD_ENTRY, message, help=help_text)])
    return found


def _also(entry: StdEntry) -> str:
    return f"; also {', '.join(entry.aliases)}" if entry.aliases else ""


def definition(entry: StdEntry) -> str:
    """The text of a definition; after its closing brace comes the comment of the next one."""
    text = entry.source.text[entry.start : entry.end]
    return text[: text.rindex("}") + 1]


def _json(entry: StdEntry) -> dict[str, object]:
    text, aliases = definition(entry), list(entry.aliases)
    return {
        "kind": entry.kind,
        "name": entry.name,
        "aliases": aliases,
        "doc": entry.doc,
        "text": text,
    }
