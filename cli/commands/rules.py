"""list every rule and complaint with its code, name and source"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

from ..terminal import say, say_json
from .job_arguments import add_json

NAME = "rules"


@dataclass(frozen=True)
class Rule:
    """`origin` is who complains: the language, the output folder, a target or a launcher."""

    code: str
    name: str
    origin: str
    text: str
    source: str


def arguments(parser: ArgumentParser) -> None:
    add_json(parser)


def run(arguments: Namespace) -> int:
    rules = sorted(all_rules(), key=lambda rule: (rule.code, rule.origin))
    if arguments.json:
        say_json([asdict(rule) for rule in rules])
        return 0
    for rule in rules:
        say(f"{rule.code}  {rule.origin:<10}  {rule.name}: {rule.text}")
        if rule.source:
            say(f"{'':8}{'':10}  {rule.source}")
    return 0


def all_rules() -> Iterator[Rule]:
    """The language's complaints, every target's layout rules, and those of launchers and output."""
    from parc.backends import BACKENDS
    from parc.backends.slurm.options import CODES as SLURM
    from parc.backends.slurm.options import SOURCE
    from parc.dsl.codes import CODES as LANGUAGE

    from ..codes import CODES as COMMANDS

    yield from _listed(LANGUAGE, "language", "docs/language.md")
    yield from _listed(COMMANDS, "commands", "")
    yield from _listed(SLURM, "slurm", SOURCE)
    for name, backend in BACKENDS.items():
        for predicate in backend.target.predicates:
            text = f"a rule over {', '.join(predicate.of)}"
            yield Rule(predicate.code, predicate.name, name, text, predicate.source)


def _listed(codes: Mapping[str, tuple[str, str]], origin: str, source: str) -> Iterator[Rule]:
    for code, (name, title) in codes.items():
        yield Rule(code, name, origin, title, source)
