"""The standard library, `std/*.par`: an index of its definitions, of which only those in use are parsed.

A definition is found by its name, by those of the lines `# also: ...` above it, and, of names such as
`meta-llama/Llama-3.1-8B`, by the part after the slash.
"""

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources

from .diagnostics import JobError, Source, nearest
from .evaluation.evaluate import TRUTH, Constant, evaluate
from .evaluation.scope import Definition, unknown_name
from .syntax.parser import parse
from .syntax.tree import Block, Identifier, Let, Statement

#: The head of a definition, at the start of a line.
_HEAD = re.compile(r"^(model|gpu|cluster|let)[ \t]+([A-Za-z_]\w*)", re.MULTILINE)
_ALSO = "also:"
#: Who makes a card, before its name.
_MAKER = re.compile(r"^(nvidia|amd|google|aws|geforce|instinct|tesla)[ _-]+", re.IGNORECASE)
_SEPARATORS = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class StdEntry:
    """One definition of the standard library: `doc` is the first line of the comment above it, `aliases` are
    what else people call it."""

    kind: str
    name: str
    doc: str
    aliases: tuple[str, ...]
    file: str
    source: Source
    start: int
    end: int


class Library:
    """The names of the standard library as its own files write them, without `std.`."""

    def lookup(self, identifier: Identifier) -> Constant:
        entry = _index().get(("let", identifier.name))
        if entry is None:
            raise unknown_name(identifier, [*self.known("let"), *TRUTH])
        return _constant(entry)

    def find(self, kind: str, name: str) -> Definition | None:
        """The entry of a name; of a model also by a checkpoint of it, such as `Qwen/Qwen3-8B-Instruct`."""
        entry = named_entry(kind, name)
        if entry is None and kind == "model":
            from .model_names import library_model

            meant = library_model(name)
            entry = named_entry(kind, meant) if meant else None
        return _definition(entry) if entry else None

    def known(self, kind: str) -> Iterable[str]:
        return [name for of, name in _index() if of == kind]

    def near(self, kind: str, name: str) -> list[str]:
        """The entries of a kind that a name may mean: that begin so, else the one spelt most alike."""
        wanted, spellings = canonical(without_maker(name)), _aliases()
        if (exact := spellings.get((kind, wanted))) is not None:
            return [exact.name]
        begun = [
            entry.name
            for (of, text), entry in spellings.items()
            if of == kind and text.startswith(wanted)
        ]
        if wanted and begun:
            return list(dict.fromkeys(begun))
        alike = nearest(wanted, [text for of, text in spellings if of == kind])
        return [spellings[kind, alike].name] if alike else []


def without_maker(name: str) -> str:
    """`NVIDIA L40S` -> `L40S`."""
    return _MAKER.sub("", name)


STD = Library()


def std_entries() -> list[StdEntry]:
    """The entries of the standard library, file by file, in the order of the text."""
    return [entry for entry in _index().values() if entry.kind != "let"]


@functools.cache
def _index() -> dict[tuple[str, str], StdEntry]:
    folder = resources.files(__package__).joinpath("std")
    if not folder.is_dir():
        return {}
    files = sorted(
        (file for file in folder.iterdir() if file.name.endswith(".par")), key=lambda f: f.name
    )
    entries = [entry for file in files for entry in _entries(file.name, file.read_text("utf-8"))]
    return {(entry.kind, entry.name): entry for entry in entries}


def canonical(name: str) -> str:
    """A name without what spellings of it differ in: `A100-80GB` and `a100_80gb`, `Llama-3.1-8B` and
    `llama3_1_8b` are the same. Between two digits a separator counts."""
    words = [word for word in _SEPARATORS.split(name.lower()) if word]
    return "".join(
        f"_{word}" if before[-1:].isdigit() and word[0].isdigit() else word
        for before, word in zip(["", *words], words, strict=False)
    )


def named_entry(kind: str, name: str) -> StdEntry | None:
    """The entry that has a name, in any spelling of it."""
    return _index().get((kind, name)) or _aliases().get((kind, canonical(name)))


@functools.cache
def _aliases() -> dict[tuple[str, str], StdEntry]:
    """The entries by kind and canonical name, of all their names."""
    return {
        (entry.kind, canonical(text)): entry
        for entry in std_entries()
        for name in (entry.name, *entry.aliases)
        for text in (name, name.rpartition("/")[2])
    }


def _entries(name: str, text: str) -> list[StdEntry]:
    source = Source(f"std/{name}", text)
    heads = list(_HEAD.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    return [
        StdEntry(head[1], head[2], *_doc(text, head.start()), name, source, head.start(), end)
        for head, end in zip(heads, ends, strict=True)
    ]


def _doc(text: str, start: int) -> tuple[str, tuple[str, ...]]:
    """The first line of the comment that ends right above a position, and the names that it lists."""
    doc, aliases = "", ""
    for line in reversed(text[:start].rstrip(" ").split("\n")[:-1]):
        if not line.startswith("#"):
            break
        doc = line.lstrip("#").strip()
        if doc.startswith(_ALSO):
            aliases = f"{doc.removeprefix(_ALSO)}, {aliases}"
    return doc, tuple(name.strip() for name in aliases.split(",") if name.strip())


def _statement(entry: StdEntry) -> Statement:
    file, diagnostics = parse(entry.source, entry.start, entry.end)
    if diagnostics:
        raise JobError(diagnostics)
    return file.statements[0]


@functools.cache
def _definition(entry: StdEntry) -> Definition:
    block = _statement(entry)
    assert isinstance(block, Block)
    return Definition(block, STD)


@functools.cache
def _constant(entry: StdEntry) -> Constant:
    let = _statement(entry)
    assert isinstance(let, Let)
    return evaluate(let.value, STD.lookup)
