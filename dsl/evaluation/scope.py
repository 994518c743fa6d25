"""Names: what a file and its imports define, and the values of its constants."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from .. import codes
from ..diagnostics import JobError, Note, Span, replaced, suggested
from ..expression import QUANTITIES, VARIABLES
from ..report import Report, already_reported, wrong
from ..syntax.tree import Block, Identifier, Let, Node, names_in
from .evaluate import FUNCTIONS, TRUTH, Constant, evaluate

#: Names that a constant may not take, because goals or values use them.
RESERVED = frozenset((*VARIABLES, *QUANTITIES, *TRUTH, *FUNCTIONS, "std", "none"))


class Names(Protocol):
    """Where the names of a block are looked up: the file that contains it."""

    def lookup(self, identifier: Identifier) -> Constant:
        """The value of a constant; raises `JobError`."""
        ...

    def find(self, kind: str, name: str) -> Definition | None:
        """The block of a kind and name."""
        ...

    def known(self, kind: str) -> Iterable[str]:
        """The names of all blocks of a kind."""
        ...


@dataclass(frozen=True)
class Definition:
    """A block, and the names of the file that contains it."""

    block: Block
    names: Names


@dataclass
class Scope:
    """The names that are visible in one file: its own definitions (`own`) and, through them, those of its
    imports."""

    lets: dict[str, Let] = field(default_factory=dict)
    values: dict[str, Constant | None] = field(default_factory=dict)
    own: dict[tuple[str, str], Definition] = field(default_factory=dict)
    visible: dict[tuple[str, str], Definition] = field(default_factory=dict)
    imports: list[Scope] = field(default_factory=list)

    def lookup(self, identifier: Identifier) -> Constant:
        if identifier.name not in self.values:
            raise unknown_name(identifier, [*self.values, *TRUTH])
        value = self.values[identifier.name]
        if value is None:
            raise already_reported()
        return value

    def find(self, kind: str, name: str) -> Definition | None:
        return self.visible.get((kind, name))

    def known(self, kind: str) -> Iterable[str]:
        return [name for of, name in self.visible if of == kind]

    def add_import(self, other: Scope, span: Span, report: Report) -> None:
        """Makes everything of another file visible here; a name with two definitions is an error."""
        self.imports.append(other)
        for name, let in other.lets.items():
            if self.lets.setdefault(name, let) is not let:
                _duplicate(f"constant `{name}`", span, self.lets[name].span, report)
            self.values.setdefault(name, other.values.get(name))
        for key, definition in other.visible.items():
            if self.visible.setdefault(key, definition) is not definition:
                _duplicate(f"{key[0]} `{key[1]}`", span, self.visible[key].block.head, report)

    def add_let(self, let: Let, report: Report) -> None:
        name = let.name.name
        if name in RESERVED or "." in name:
            help = "dots and the names of decisions, quantities and functions are not for constants"
            report.add(codes.RESERVED, f"`{name}` cannot name a constant", let.name.span, help)
        elif name in self.lets:
            _duplicate(f"constant `{name}`", let.name.span, self.lets[name].span, report)
        else:
            self.lets[name] = let

    def add_block(self, block: Block, report: Report) -> None:
        """Registers a block under its name; one without a name cannot be referred to."""
        if block.name is None:
            return
        key = (block.kind.name, block.name.name)
        if key in self.visible:
            place = self.visible[key].block.head
            _duplicate(f"{key[0]} `{key[1]}`", block.name.span, place, report)
        else:
            self.own[key] = self.visible[key] = Definition(block, self)


def _duplicate(what: str, span: Span, first: Span, report: Report) -> None:
    notes = (Note("first defined here", first),)
    report.add(codes.DUPLICATE, f"{what} is defined twice", span, "give one another name", notes)


#: Names of variables of the environment, and of Terraform's.
_FROM_OUTSIDE = re.compile(r"(?:env|environ|os|var|local)\.|[A-Z][A-Z_]{2,}$")


def _no_environment() -> str:
    from ..syntax.absent_features import NO_ENVIRONMENT

    return NO_ENVIRONMENT


def unknown_name(identifier: Identifier, known: Iterable[str], what: str = "name") -> JobError:
    listed, own = list(known), identifier.name.rpartition(".")[2]
    help, fix = suggested(identifier.name, identifier.span, listed)
    if own in listed and own != identifier.name:
        help, fix = f"did you mean `{own}`?", replaced(identifier.span, own)
    elif help is None and what == "name" and _FROM_OUTSIDE.match(identifier.name):
        help = _no_environment()
    message = f"unknown {what} `{identifier.name}`"
    return wrong(codes.UNKNOWN_NAME, message, identifier.span, help, fix=fix)


def resolve_lets(scope: Scope, changes: Mapping[str, Node], report: Report) -> None:
    """Computes the constants of a file, each after those that it needs; `changes` come from --set."""
    pending = {name: let for name, let in scope.lets.items() if name not in scope.values}
    nodes = {name: changes.get(name, let.value) for name, let in pending.items()}
    for name in _in_order(nodes, pending, scope, report):
        scope.values[name] = None
        with report.catching():
            scope.values[name] = evaluate(nodes[name], scope.lookup)


def _in_order(
    nodes: dict[str, Node], lets: dict[str, Let], scope: Scope, report: Report
) -> list[str]:
    """The names, each after those that it needs; circles are reported, names in or after one get no value."""
    needs = {
        name: [w.name for w in names_in(node) if w.name in nodes] for name, node in nodes.items()
    }
    missing = {name: len(needed) for name, needed in needs.items()}
    users: dict[str, list[str]] = {name: [] for name in nodes}
    for name, needed in needs.items():
        for other in needed:
            users[other].append(name)
    order = [name for name, count in missing.items() if not count]
    for name in order:
        for user in users[name]:
            missing[user] -= 1
            if not missing[user]:
                order.append(user)
    stuck = [name for name, count in missing.items() if count]
    scope.values.update(dict.fromkeys(stuck))
    for circle in _circles(stuck, needs):
        _report_circle(circle, lets, report)
    return order


def _circles(stuck: list[str], needs: Mapping[str, list[str]]) -> Iterator[list[str]]:
    """Circles among names that cannot be resolved, each beginning and ending with the same name."""
    waiting, seen = set(stuck), set[str]()
    for name in stuck:
        path: dict[str, None] = {}
        while name not in seen:
            seen.add(name)
            path[name] = None
            name = next(other for other in needs[name] if other in waiting)
        if name in path:
            walked = list(path)
            yield [*walked[walked.index(name) :], name]


#: The most names of a circle that a message lists.
_SHOWN = 6


def _report_circle(circle: list[str], lets: dict[str, Let], report: Report) -> None:
    through = circle[1:-1][:_SHOWN]
    notes = tuple(Note(f"through `{name}`", lets[name].span) for name in through)
    steps = [*circle[: _SHOWN + 1], "...", circle[-1]] if len(circle) > _SHOWN + 2 else circle
    message = f"`{circle[0]}` depends on itself: {' -> '.join(steps)}"
    report.add(codes.RECURSION, message, lets[circle[0]].span, None, notes)
