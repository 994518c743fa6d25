"""list every rule and complaint with its code, name and source, or print the pages of some"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from parc.dsl.diagnostics import Diagnostic, JobError, did_you_mean

from .. import codes
from ..printing.terminal import print_entry, print_json, print_page
from ..writing.folder import made
from ..writing.paths import why
from ..writing.single_file import replace
from .job_arguments import add_json

if TYPE_CHECKING:
    from parc.compiler.target import Codes, Predicate, Refusal, Target

NAME = "rules"


@dataclass(frozen=True)
class ListedRule:
    """`origin` is what checks it: language, commands, check, compiler, target or targets, launcher, lint.

    `stricter` is why parc refuses what the framework would start; empty where the framework refuses it too.
    `help` is the cure that a target's refusal names, `record` the level of a rule of lint, and why.
    """

    code: str
    name: str
    origin: str
    text: str
    source: str
    stricter: str = ""
    help: str = ""
    record: str = ""


def arguments(parser: ArgumentParser) -> None:
    add_json(parser)
    parser.add_argument("codes", nargs="*", metavar="CODE", help="print these codes' pages")
    parser.add_argument("--pages", metavar="FOLDER", help="write a page for each rule of lint")


def run(arguments: Namespace) -> int:
    rules = sorted(all_rules(), key=lambda rule: (rule.code, rule.origin))
    if arguments.pages:
        _write_pages(Path(arguments.pages))
    elif arguments.json:
        print_json([asdict(rule) for rule in rules if _asked(rule, arguments.codes)])
    elif arguments.codes:
        print_page("\n\n".join(explained(name) for name in arguments.codes))
    else:
        _list(rules)
    return 0


def _asked(rule: ListedRule, names: Sequence[str]) -> bool:
    return not names or rule.code in names or rule.name in names


def _list(rules: Iterable[ListedRule]) -> None:
    from parc.compiler.codes import MOVED, RETIRED, change

    for _, same in groupby(rules, lambda rule: rule.code):
        for head, text in _entry(list(same)):
            print_entry(head, text)
    for code in (*MOVED, *RETIRED):
        print_entry("changed: ", change(code) or "")


def _entry(rules: Sequence[ListedRule]) -> Iterator[tuple[str, str]]:
    """A code with its title, and a line for each origin: what stands before each line, and its text."""
    yield f"{rules[0].code}  ", f"{rules[0].name}: {rules[0].text}"
    for rule in rules:
        stricter = f"stricter: {rule.stricter}" if rule.stricter else ""
        first, *others = list(filter(None, (rule.source, rule.help, stricter, rule.record))) or [""]
        yield (f"        {rule.origin:<11}  ", first) if first else (f"        {rule.origin}", "")
        yield from ((" " * 21, other) for other in others)


def explained(name: str) -> str:
    """The page of a rule of lint, else what checks a code. Raises `JobError` for an unknown name."""
    from parc.compiler.codes import change, current
    from parc.lint.rule_page import page
    from parc.lint.rules import RULES
    from parc.warnings import WARNINGS, name_of
    from parc.warnings import page as page_of_warning

    for module in WARNINGS:
        if name in (module.CODE, name_of(module)):
            return page_of_warning(module).rstrip()
    changed, wanted = change(name), current(name)
    said = [rule for rule in all_rules() if wanted in (rule.code, rule.name)]
    linted = next((rule for rule in RULES if wanted in (rule.code, rule.name)), None)
    if not (said or changed):
        raise JobError([no_rule(name, [text for r in all_rules() for text in (r.code, r.name)])])
    listed = "\n".join(head + line for head, line in _entry(said)) if said else ""
    text = page(linted).rstrip() if linted else listed
    return "\n\n".join(filter(None, (changed, text)))


def no_rule(name: str, known: Sequence[str]) -> Diagnostic:
    help_text = did_you_mean(name, known) or "`parc rules` lists them"
    return Diagnostic(codes.NO_RULE, f"there is no rule `{name}`", help=help_text)


def _write_pages(folder: Path) -> None:
    """A page for each rule of lint, and README.md with an index. Raises `JobError`."""
    from parc.lint.rule_page import index, page
    from parc.lint.rules import RULES

    try:
        with made(folder):
            pass
    except (OSError, ValueError) as error:
        message = f"cannot write `{folder}`: {why(error)}"
        raise JobError([Diagnostic(codes.UNWRITABLE, message)]) from None
    for rule in RULES:
        replace(folder / f"{rule.code}.md", page(rule))
    replace(folder / "README.md", index(RULES))


def all_rules() -> Iterator[ListedRule]:
    """Every complaint that parc can make, once for each origin, in no order."""
    from parc.backends import BACKENDS, LAUNCHERS
    from parc.calibrate.codes import CODES as CALIBRATION
    from parc.calibrate.probe.codes import CODES as PROBE
    from parc.compiler.codes import CODES as COMPILER
    from parc.compiler.rules.validity import GENERAL
    from parc.dsl.codes import CODES as LANGUAGE
    from parc.lint.record import judged_text
    from parc.lint.rules import RULES as LINT
    from parc.reading.huggingface.codes import CODES as HUGGING_FACE
    from parc.warnings import WARNINGS, name_of

    yield from _listed(LANGUAGE, "language", "docs/language.md")
    yield from _listed(codes.CODES, "commands")
    for module in WARNINGS:
        yield ListedRule(module.CODE, name_of(module), "check", module.TITLE, module.SOURCE)
    yield from _listed(CALIBRATION, "calibrate", "docs/calibrate.md")
    yield from _listed(PROBE, "measure", "docs/measure.md")
    yield from _listed(HUGGING_FACE, "init")
    yield from _listed(COMPILER, "compiler")
    yield from _enforced(GENERAL, "all targets")
    for name, backend in BACKENDS.items():
        yield from _of_target(backend.target, name)
    for name, launcher in LAUNCHERS.items():
        yield from _listed(launcher.codes, name, launcher.manual)
    for rule in LINT:
        record = judged_text(rule)
        yield ListedRule(rule.code, rule.name, "lint", rule.title, rule.source, record=record)


def _of_target(target: Target, origin: str) -> Iterator[ListedRule]:
    yield from _enforced(target.predicates, origin)
    yield from _refused((*target.refusals, *target.cautions), origin)
    yield from _listed(target.codes, origin)


def _refused(refusals: Iterable[Refusal], origin: str) -> Iterator[ListedRule]:
    """A line for each code; without a cure where refusals of one code have several."""
    for _, same in groupby(sorted(refusals, key=lambda each: each.code), lambda each: each.code):
        first, *others = same
        help = first.help if all(other.help == first.help for other in others) else ""
        yield ListedRule(first.code, first.name, origin, first.title, "", help=help)


def _enforced(predicates: Iterable[Predicate], origin: str) -> Iterator[ListedRule]:
    for predicate in predicates:
        text, source = predicate.title, predicate.source
        yield ListedRule(predicate.code, predicate.name, origin, text, source, predicate.stricter)


def _listed(table: Codes, origin: str, source: str = "") -> Iterator[ListedRule]:
    for code, (name, title) in table.items():
        yield ListedRule(code, name, origin, title, source)
