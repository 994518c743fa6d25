"""list the standard library or a part of it, or print one entry"""

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


#: Option -> the kind of definitions that it lists.
KINDS = {"models": "model", "gpus": "gpu", "clusters": "cluster"}


def arguments(parser: ArgumentParser) -> None:
    word = "one entry, such as h100_pod, or a part of the names to list, such as llama"
    parser.add_argument("name", nargs="?", metavar="NAME", help=word)
    only = parser.add_mutually_exclusive_group()
    for option, kind in KINDS.items():
        only.add_argument(f"--{option}", dest="kind", action="store_const", const=kind,
                          help=f"list the {option} alone")  # fmt: skip
    add_json(parser)


def run(arguments: Namespace) -> int:
    from parc.dsl import std_entries

    entries = [each for each in std_entries() if arguments.kind in (None, each.kind)]
    whole = False
    if arguments.name is not None:
        entries, whole = _named(entries, arguments.name.removeprefix("std."))
    if arguments.json:
        print_json([_json(entry) for entry in entries])
    elif whole:
        print_text("\n\n".join(definition(entry) for entry in entries))
    else:
        width = max(len(entry.name) for entry in entries)
        for entry in entries:
            print_entry(f"{entry.kind:<8} {entry.name:<{width}}  ", f"{entry.doc}{_also(entry)}")
    return 0


def _named(entries: list[StdEntry], name: str) -> tuple[list[StdEntry], bool]:
    """The entry of a name, which is printed whole, else those whose names hold it."""
    from parc.dsl.library import canonical

    wanted = canonical(name)
    names = {entry.name: [*map(canonical, (entry.name, *entry.aliases))] for entry in entries}
    if found := [entry for entry in entries if wanted in names[entry.name]]:
        return found, True
    if found := [entry for entry in entries if any(wanted in each for each in names[entry.name])]:
        return found, False
    if (kind := KINDS.get(name.lower())) is not None:
        return [entry for entry in entries if entry.kind == kind], False
    known = [entry.name for entry in entries]
    message = f"the standard library has no `{name}`"
    help_text = did_you_mean(name, known) or "`parc std` lists it"
    raise JobError([Diagnostic(codes.NO_STD_ENTRY, message, help=help_text)])


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
