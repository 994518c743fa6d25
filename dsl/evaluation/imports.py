"""A job file and the files that it imports -> their scopes, each file read once."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from .. import codes
from ..diagnostics import Diagnostic, Fix, Source, replaced, suggested
from ..fixes import removal, required
from ..report import Report
from ..syntax.parser import parse
from ..syntax.sources import read
from ..syntax.tree import Block, Collection, File, Identifier, Import, Let, Node, Setting, Text
from ..unsupported import of_setting
from . import spellings
from .other_blocks import moved, of_another
from .scope import Scope, resolve_lets

#: Blocks of the language, and those that a file may offer to others.
BLOCKS = ("model", "gpu", "cluster", "train", "stage", "goal", "target", "launch")
SHARED = ("model", "gpu", "cluster", "launch")
_OF_NAMES = {
    "model": "model from {} {{ }}",
    "cluster": "cluster from {} {{ }}",
    "target": "target {} {{ }}",
}
#: Longest chain of files of which each imports the next.
_MAX_CHAIN = 32


def outside(setting: Setting) -> Diagnostic:
    """The complaint about a setting that stands in no block; `model = NAME` becomes a block."""
    key, value, span = setting.key.name, setting.value, setting.span
    message = f"`{key} = ...` stands outside of every block"
    if key in _OF_NAMES and isinstance(value, Identifier | Text):
        name = value.span.text.strip('"') if key == "target" else value.span.text
        text = _OF_NAMES[key].format(name)
        write = replaced(span, text)
        return Diagnostic(codes.MISPLACED, message, span, help=f"write `{text}`", fix=write)
    help, fix = _meant(setting)
    return Diagnostic(codes.MISPLACED, message, span, help=help, fix=fix)


def _meant(setting: Setting) -> tuple[str, Fix | None]:
    """The cure of `targets = [a, b]`, of a setting of a block, as `train.seq_len = 1` or alone, and of a
    constant without `let`."""
    key, value, span = setting.key.name, setting.value, setting.span
    if key == "targets" and isinstance(value, Collection) and value.items:
        names = (item.span.text.strip('"') for item in value.items)
        text = "\n".join(f"target {name} {{ }}" for name in names)
        return "each target has a block: `target NAME { }`", replaced(span, text)
    kind, dot, rest = key.rpartition(".")
    if dot and kind.split(".")[0] in BLOCKS:
        return moved(setting, rest, [kind.replace(".", " ")])
    if key in BLOCKS:
        return f"`{key}` is a block: `{key} {{ ... }}`", None
    if dot:
        return "the name of a constant has no dot", None
    if (decision := spellings.DECISIONS.get(key.lower())) is not None:
        condition = f"{decision} == {value.span.text}"
        help = f"the search decides it; to fix it, `goal {{ require {condition} }}`"
        return help, Fix((removal(span), required(condition, span.source)))
    constant = f"let {key} = {value.span.text}"
    return of_another(setting) or (f"a constant is `{constant}`", replaced(span, constant))


@dataclass
class Loader:
    """Reads files; keeps their texts for the digest and the complaints for the report.

    `broken` is whether a text could not be read completely; `misspelt` holds kinds of blocks that one spells
    wrong, `named` the kinds of the blocks that bear certain names.
    """

    report: Report
    let_changes: Mapping[str, Node] = field(default_factory=dict)
    named: Mapping[str, str] = field(default_factory=dict)
    texts: list[bytes] = field(default_factory=list)
    broken: bool = False
    misspelt: set[str] = field(default_factory=set)
    _scopes: dict[str, Scope] = field(default_factory=dict)
    _chain: list[str] = field(default_factory=list)

    def scope(self, source: Source, data: bytes, path: str) -> tuple[File, Scope]:
        """Parses one file, whose imports are relative to `path`, and resolves its names."""
        self.texts.append(data)
        file, diagnostics = parse(source)
        self.broken |= bool(diagnostics)
        self.report.extend(diagnostics)
        scope = Scope()
        self._chain.append(os.path.realpath(path))
        for statement in file.statements:
            if isinstance(statement, Import):
                self._import(statement, source, path, scope)
        self._chain.pop()
        for statement in file.statements:
            self._register(statement, scope)
        resolve_lets(scope, self.let_changes, self.report)
        return file, scope

    def _register(self, statement: object, scope: Scope) -> None:
        match statement:
            case Let():
                scope.add_let(statement, self.report)
            case Block(kind) if kind.name in SHARED:
                scope.add_block(statement, self.report)
            case Block(kind) if kind.name not in BLOCKS and (asked := of_setting(kind.name)):
                message = asked.message(kind.name)
                self.report.add(asked.code, message, kind.span, asked.instead)
            case Block(kind) if kind.name not in BLOCKS:
                near, fix = self._named(kind) or suggested(
                    kind.name, kind.span, BLOCKS, spellings.BLOCKS
                )
                self.misspelt |= {block for block in BLOCKS if near and f"`{block}`" in near}
                help = near or f"blocks are {', '.join(BLOCKS)}"
                message = f"unknown block `{kind.name}`"
                self.report.add(codes.UNKNOWN_BLOCK, message, kind.span, help, fix=fix)
            case Setting():
                self.report.extend([outside(statement)])
                if statement.key.name in BLOCKS:
                    self.misspelt.add(statement.key.name)

    def _named(self, kind: Identifier) -> tuple[str, Fix] | None:
        """The cure of `slurm {` and `megatron {`, which are names of blocks of a kind."""
        of = self.named.get(kind.name)
        if of is None:
            return None
        self.misspelt.add(of)
        return f"write `{of} {kind.name}`", replaced(kind.span, f"{of} {kind.name}")

    def _import(self, statement: Import, source: Source, path: str, scope: Scope) -> None:
        wanted = statement.path.value
        target = os.path.join(os.path.dirname(path), wanted)
        name = os.path.normpath(os.path.join(os.path.dirname(source.name), wanted))
        real = os.path.realpath(target) if "\0" not in target else target
        span = statement.path.span
        if real in self._chain:
            chain = [os.path.basename(p) for p in self._chain[self._chain.index(real) :]]
            circle = " -> ".join([*chain, chain[0]])
            message = f"files import each other in a circle: {circle}"
            self.report.add(codes.IMPORT_CYCLE, message, span)
            self.broken = True
        elif len(self._chain) >= _MAX_CHAIN:
            message = f"more than {_MAX_CHAIN} files import each other in a row"
            self.report.add(codes.TOO_LARGE, message, span)
        else:
            self._add(statement, target, name, real, scope)

    def _add(self, statement: Import, target: str, name: str, real: str, scope: Scope) -> None:
        before = len(self.report.diagnostics)
        with self.report.catching():
            if real not in self._scopes:
                text, data = read(target, name, statement.path.span)
                file, self._scopes[real] = self.scope(text, data, target)
                self._refuse_job_blocks(file)
            scope.add_import(self._scopes[real], statement.span, self.report)
        self.broken |= len(self.report.diagnostics) > before

    def _refuse_job_blocks(self, file: File) -> None:
        for statement in file.statements:
            if isinstance(statement, Block) and statement.kind.name in set(BLOCKS) - set(SHARED):
                message = f"an imported file cannot hold a `{statement.kind.name}` block"
                help = f"imports offer `let` and the blocks {', '.join(SHARED)}"
                self.report.add(codes.MISPLACED, message, statement.head, help)
