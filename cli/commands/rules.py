"""list every rule and complaint with its code, name and source"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from ..printing.terminal import print_json, print_text
from .job_arguments import add_json

if TYPE_CHECKING:
    from parc.compiler.target import Codes, Predicate, Target

NAME = "rules"


@dataclass(frozen=True)
class ListedRule:
    """`origin` is what checks it: language, commands, compiler, all or one target, a launcher, or lint.

    `stricter` is why parc refuses what the framework would start; empty where the framework refuses it too.
    """

    code: str
    name: str
    origin: str
    text: str
    source: str
    stricter: str = ""


def arguments(parser: ArgumentParser) -> None:
    add_json(parser)


def run(arguments: Namespace) -> int:
    rules = sorted(all_rules(), key=lambda rule: (rule.code, rule.origin))
    if arguments.json:
        print_json([asdict(rule) for rule in rules])
        return 0
    for rule in rules:
        print_text(f"{rule.code}  {rule.origin:<11}  {rule.name}: {rule.text}")
        if rule.source:
            print_text(f"{'':8}{'':11}  {rule.source}")
        if rule.stricter:
            print_text(f"{'':8}{'':11}  stricter: {rule.stricter}")
    return 0


def all_rules() -> Iterator[ListedRule]:
    """Every complaint that parc can make, once for each origin, in no order."""
    from parc.backends import BACKENDS, LAUNCHERS
    from parc.calibrate.codes import CODES as CALIBRATION
    from parc.compiler.codes import CODES as COMPILER
    from parc.compiler.rules.validity import GENERAL
    from parc.dsl.codes import CODES as LANGUAGE
    from parc.lint.rules import RULES as LINT

    from ..codes import CODES as COMMANDS

    yield from _listed(LANGUAGE, "language", "docs/language.md")
    yield from _listed(COMMANDS, "commands")
    yield from _listed(CALIBRATION, "calibrate", "docs/calibrate.md")
    yield from _listed(COMPILER, "compiler")
    yield from _enforced(GENERAL, "all targets")
    for name, backend in BACKENDS.items():
        yield from _of_target(backend.target, name)
    for name, launcher in LAUNCHERS.items():
        yield from _listed(launcher.codes, name, launcher.manual)
    for rule in LINT:
        yield ListedRule(rule.code, rule.name, "lint", rule.title, rule.source)


def _of_target(target: Target, origin: str) -> Iterator[ListedRule]:
    yield from _enforced(target.predicates, origin)
    for refusal in target.refusals:
        yield ListedRule(refusal.code, refusal.name, origin, refusal.title, "")
    yield from _listed(target.codes, origin)


def _enforced(predicates: Iterable[Predicate], origin: str) -> Iterator[ListedRule]:
    for predicate in predicates:
        text, source = predicate.title, predicate.source
        yield ListedRule(predicate.code, predicate.name, origin, text, source, predicate.stricter)


def _listed(codes: Codes, origin: str, source: str = "") -> Iterator[ListedRule]:
    for code, (name, title) in codes.items():
        yield ListedRule(code, name, origin, title, source)
