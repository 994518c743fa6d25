"""`LaunchConfig`s -> findings: every rule over every job, less what is suppressed or not selected."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..compiler.codes import current
from ..dsl.diagnostics import Diagnostic, Note, Severity
from ..dsl.job import Cluster, Job
from ..reading.facts import LaunchConfig, Unknown
from .facts.launched_job import LaunchedJob
from .finding import Complaint, Finding, Skipped
from .ignore_comments import Ignore, Ignores
from .rule import Rule
from .rules import RULES, UNKNOWN_FACT, UNUSED_IGNORE

SEVERITIES: tuple[Severity, ...] = ("info", "warning", "error")


@dataclass(frozen=True)
class LintOptions:
    """What to judge with. Rules are chosen by code, name, or the start of a code (`PAR6`)."""

    job: Job | None = None
    cluster: Cluster | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file: Mapping[str, Sequence[str]] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    require_complete: bool = False
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Judged:
    """One job with what was found in it. `skipped` are the rules that an unknown fact kept from judging,
    with the facts that they asked for."""

    config: LaunchConfig
    findings: tuple[Finding, ...]
    skipped: Mapping[str, frozenset[str]]

    @property
    def path(self) -> str:
        return next(iter(self.config.texts), "")

    @property
    def known(self) -> int:
        return sum(not isinstance(fact.value, Unknown) for fact in self.config.facts)


def judge(configs: Iterable[LaunchConfig], options: LintOptions) -> list[Judged]:
    """Every job's findings, in the order of the files and their lines."""
    return [_judge(config, options) for config in configs]


def _judge(config: LaunchConfig, options: LintOptions) -> Judged:
    launch = LaunchedJob(config, options.job, options.cluster, options.versions, options.arguments)
    ignores = Ignores(config.texts)
    kept: list[Finding] = []
    skipped: dict[str, frozenset[str]] = {}
    for rule in RULES:
        if not _wanted(rule, options):
            continue
        for said in rule.check(launch):
            if isinstance(said, Skipped):
                skipped[rule.code] = skipped.get(rule.code, frozenset()) | said.facts
                continue
            found = _finding(launch, rule, said)
            if not ignores.hide(found) and not _ignored_in_file(rule, found, options):
                kept.append(found)
    if _wanted(UNUSED_IGNORE, options):
        unused = (each for each in ignores.unused() if not _unselected(each, options))
        kept += [_finding(launch, UNUSED_IGNORE, each.complaint()) for each in unused]
    return Judged(config, tuple(sorted(dict.fromkeys(kept), key=_order)), skipped)


def _wanted(rule: Rule, options: LintOptions) -> bool:
    if _named(rule, options.ignore):
        return False
    if rule.asked and not (options.require_complete and rule is UNKNOWN_FACT):
        return any(current(name) in (rule.code, rule.name) for name in options.select)
    return not options.select or _named(rule, options.select)


def _named(rule: Rule, names: Iterable[str]) -> bool:
    return any(
        name == rule.name or (name.startswith("PAR") and rule.code.startswith(name))
        for name in map(current, names)
    )


def _unselected(ignore: Ignore, options: LintOptions) -> bool:
    """An ignore of a rule that did not run says nothing."""
    rules = [rule for rule in RULES if current(ignore.code) in (rule.code, rule.name)]
    return bool(rules) and not any(_wanted(rule, options) for rule in rules)


def _ignored_in_file(rule: Rule, found: Finding, options: LintOptions) -> bool:
    span = found.diagnostic.span
    path = span.source.name if span else found.path
    return any(
        fnmatch.fnmatch(path, pattern) and _named(rule, names)
        for pattern, names in options.per_file.items()
    )


def _finding(launch: LaunchedJob, rule: Rule, said: Complaint) -> Finding:
    notes = tuple(Note(each.message, launch.span(each.at)) for each in said.related)
    severity = said.severity or rule.severity
    span = launch.span(said.at)
    diagnostic = Diagnostic(rule.code, said.message, span, severity, notes, said.help)
    path = span.source.name if span else launch.path
    return Finding(rule.name, diagnostic, path, said.edits)


def _order(found: Finding) -> tuple[str, int, int, str, str]:
    span = found.diagnostic.span
    place = (span.source.name, span.line, span.column) if span else (found.path, 0, 0)
    return (*place, found.code, found.diagnostic.message)
