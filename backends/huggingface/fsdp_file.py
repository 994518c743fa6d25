"""The Trainer's argument `fsdp_config` -> FSDP's keys: of the JSON file that it names, or of its text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ...reading.bash.script import Folder
from ...reading.facts import Unread
from ...reading.launchers import Started
from ...reading.named_files import missing, named_file
from ...reading.yaml_settings import Scalar, placed_scalars, yaml_scalars
from .fsdp import BLOCK


@dataclass(frozen=True)
class Block:
    """Keys by their dotted name; `texts` is the file, or `unread` says why it is none."""

    keys: Mapping[str, Scalar] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    unread: tuple[Unread, ...] = ()


def fsdp_block(
    launch: Started, scalars: Mapping[str, Scalar], texts: Mapping[str, str], folder: Folder
) -> Block:
    """Nothing where the argument is not given, or is a block of keys already."""
    named = scalars.get(BLOCK)
    if named is None or not isinstance(named.value, str) or not named.value:
        return Block()
    if named.text.startswith("{"):
        return _inline(named)
    there = named_file(launch, named.word.pieces, texts, folder)
    if there is None:
        return Block(unread=(missing("configuration of FSDP", named.word),))
    files = {} if there.text is None else {there.path: there.text}
    # JSON may have tabs between its words, which YAML does not take.
    spaced = replace(there.source, text=there.source.text.replace("\t", " "))
    try:
        return Block(_below(placed_scalars(spaced)), files)
    except ValueError as error:
        return Block({}, files, (Unread.because(error, there.path),))


def _inline(named: Scalar) -> Block:
    """The keys of a text in the command, all at its place."""
    try:
        keys = _below(yaml_scalars(named.path, named.text))
    except ValueError as error:
        return Block(unread=(Unread.because(error, named.path, named.line, named.column),))
    return Block(
        {
            name: replace(scalar, line=named.line, column=named.column)
            for name, scalar in keys.items()
        }
    )


def _below(keys: Mapping[str, Scalar]) -> dict[str, Scalar]:
    return {
        f"{BLOCK}.{name}": replace(scalar, name=f"{BLOCK}.{name}") for name, scalar in keys.items()
    }
