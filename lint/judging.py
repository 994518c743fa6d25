"""`LaunchConfig`s -> findings: every rule over every job, less what is suppressed or not selected."""

import fnmatch
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..backends.kept import Files
from ..backends.release_check import written_release
from ..compiler.codes import current
from ..compiler.target import Effect
from ..dsl.diagnostics import Diagnostic, Note, Severity
from ..dsl.hardware import Cluster
from ..dsl.inputs.budget import Budget
from ..dsl.job import Job
from ..reading.checkout import Checkout
from ..reading.facts import LaunchConfig, Unknown
from .accepted.exceptions import Excused
from .accepted.ignore_comments import Ignore, Ignores
from .accepted.swept import softened
from .certainty import OWN, doubts, of_default
from .facts.launched_job import HasFolder, LaunchedJob, Others, no_folders
from .facts.neighbours import Neighbours
from .facts.release import dated
from .facts.stated import meant_stage
from .finding import Complaint, Finding, Place, Skipped, WithoutLaunch
from .one_cause import once
from .record import capped
from .rule import Rule
from .rules import NOT_READ, RULES, UNKNOWN_FACT, UNUSED_IGNORE

#: Findings of one rule in one job.
MOST_SAID = 250
SEVERITIES: tuple[Severity, ...] = ("info", "warning", "error")


@dataclass(frozen=True)
class LintOptions:
    """Inputs of judging: the job, the cluster, and which rules speak.

    `job` and `cluster` are those that the files are meant for. `select`, `ignore` and the values of
    `per_file` (file pattern -> rules to ignore there) are codes, names, or starts of codes (`PAR6`).
    `severities`: code, name or start of a code -> its level here. `rules`: the newest dated set of rules that
    speaks, such as 2026-11. `exceptions` and `baseline` (how often a fingerprint was there) are accepted.
    `own_levels`: rules speak at the level of what they say, whatever their record. `versions`: framework ->
    the release to judge for, `fork`: its fork. `arguments` are those of the script.
    `has_folder`: of a relative folder and a script, whether the folder is there; `files` are those beside,
    and `checkout` says what the repositories around them pin and declare.
    """

    job: Job | None = None
    cluster: Cluster | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file: Mapping[str, Sequence[str]] = field(default_factory=dict)
    severities: Mapping[str, Severity] = field(default_factory=dict)
    rules: str | None = None
    exceptions: tuple[Excused, ...] = ()
    baseline: Counter[str] | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    fork: str | None = None
    own_levels: bool = False
    require_complete: bool = False
    arguments: tuple[str, ...] = ()
    has_folder: HasFolder = no_folders
    files: Files = Files()
    checkout: Checkout = Checkout()


@dataclass(frozen=True)
class Judged:
    """One job and its findings. `skipped`: code of each rule that could not judge -> the unknown facts
    that it needs. `release`: which release of its framework it was judged for, and why; empty for none.
    `unpriced`: what `--spec` or `--cluster` asks for and could not be judged -> why. `idle` stands for a
    named file or folder that is no job.
    """

    config: LaunchConfig
    findings: tuple[Finding, ...]
    skipped: Mapping[str, frozenset[str]]
    release: str = ""
    unpriced: Mapping[str, str] = field(default_factory=dict)
    idle: WithoutLaunch | None = None

    @property
    def path(self) -> str:
        return next(iter(self.config.texts), "")

    @property
    def known(self) -> int:
        return sum(not isinstance(fact.value, Unknown) for fact in self.config.facts)


def judge(
    configs: Iterable[LaunchConfig], options: LintOptions, budget: Budget | None = None
) -> list[Judged]:
    """Every job's findings, in the order of the files and lines; what jobs share is said of the first. A job
    that is beyond the budget is not judged."""
    configs = list(configs)
    earlier = Neighbours(configs)
    judged = [_judge(config, options, earlier) for config in configs if _within(config, budget)]
    rounds = softened([(each.config, each.findings) for each in judged])
    judged = [replace(each, findings=own) for each, own in zip(judged, rounds, strict=True)]
    kept = once([(each.path, each.findings) for each in judged])
    return [replace(each, findings=own) for each, own in zip(judged, kept, strict=True)]


def _within(config: LaunchConfig, budget: Budget | None) -> bool:
    return budget is None or budget.has_time(next(iter(config.texts), ""))


def findings(judged: Iterable[Judged]) -> list[Finding]:
    """Findings of all jobs, in their order."""
    return [found for each in judged for found in each.findings]


def _judge(config: LaunchConfig, options: LintOptions, earlier: Others) -> Judged:
    versions = {**_written(config), **options.versions}
    launch = LaunchedJob(
        config,
        None,
        options.cluster,
        versions,
        options.arguments,
        options.fork,
        options.has_folder,
        options.files,
        earlier,
        options.checkout,
    )
    if options.job is not None:
        launch = replace(launch, job=meant_stage(launch, options.job))
    ignores = Ignores(config.texts)
    kept: list[Finding] = []
    skipped: dict[str, frozenset[str]] = {}
    unpriced: dict[str, str] = {}
    for rule in RULES:
        if not _wanted(rule, options):
            continue
        if rule.training and not launch.may_train:
            if rule.priced and launch.is_priced:
                unpriced[rule.priced] = f"`{config.program}` does not train"
            continue
        for number, outcome in enumerate(rule.check(launch)):
            if number == MOST_SAID:
                kept.append(_finding(launch, NOT_READ, _too_often(launch, rule.code), options))
                break
            if isinstance(outcome, Skipped) and outcome.why:
                unpriced[rule.priced] = outcome.why
                continue
            if isinstance(outcome, Skipped):
                skipped[rule.code] = skipped.get(rule.code, frozenset()) | outcome.facts
                continue
            found = _finding(launch, rule, outcome, options)
            if not ignores.hide(found) and not _ignored_in_file(rule, found, options):
                kept.append(found)
    if _wanted(UNUSED_IGNORE, options):
        unused = [each for each in ignores.unused() if not _unselected(each, options)]
        if len(unused) > MOST_SAID:
            complaint = _too_often(launch, UNUSED_IGNORE.code)
            kept.append(_finding(launch, NOT_READ, complaint, options))
        kept += [
            _finding(launch, UNUSED_IGNORE, each.complaint(), options)
            for each in unused[:MOST_SAID]
        ]
    findings = tuple(sorted(dict.fromkeys(kept), key=_order))
    return Judged(config, findings, skipped, _release(launch, options, findings), unpriced)


def _too_often(launch: LaunchedJob, code: str) -> Complaint:
    message = f"`{launch.path}` has over {MOST_SAID} findings of {code}, of which only the first are shown"
    return Complaint(message, Place(launch.path, 1), severity="warning")


def _release(launch: LaunchedJob, options: LintOptions, found: tuple[Finding, ...]) -> str:
    """Said where a finding depends on it, or where the user names one."""
    if launch.framework is None or dated(launch.framework) is None:
        return ""
    named = launch.framework in options.versions or options.fork is not None
    bound = {rule.code for rule in RULES if rule.release_bound} & {each.code for each in found}
    return launch.release(launch.framework).assumed if named or bound else ""


def _written(config: LaunchConfig) -> dict[str, str]:
    """The release that the files say they are written for."""
    found = written_release(config, config.framework) if config.framework else None
    return {config.framework: found} if config.framework and found else {}


def _wanted(rule: Rule, options: LintOptions) -> bool:
    if rule.of_reading:
        return not _named(rule, options.ignore)
    if _named(rule, options.ignore) or (options.rules and rule.since > options.rules):
        return False
    if rule.asked and not (options.require_complete and rule is UNKNOWN_FACT):
        return any(current(name) in (rule.code, rule.name) for name in options.select)
    return not options.select or _named(rule, options.select)


def _level(rule: Rule, options: LintOptions) -> Severity | None:
    """The project's level of a rule; the longest name that fits decides."""
    fitting = [name for name in options.severities if _named(rule, [name])]
    return options.severities[max(fitting, key=len)] if fitting else None


def _named(rule: Rule, names: Iterable[str]) -> bool:
    return any(
        name == rule.name or (name.startswith("PAR") and rule.code.startswith(name))
        for name in map(current, names)
    )


def _unselected(ignore: Ignore, options: LintOptions) -> bool:
    """Whether a comment ignores a rule that did not run, and so could not have hidden anything."""
    rules = [rule for rule in RULES if current(ignore.code) in (rule.code, rule.name)]
    return bool(rules) and not any(_wanted(rule, options) for rule in rules)


def _ignored_in_file(rule: Rule, found: Finding, options: LintOptions) -> bool:
    return any(
        fnmatch.fnmatch(found.file, pattern) and _named(rule, names)
        for pattern, names in options.per_file.items()
    )


def _finding(
    launch: LaunchedJob, rule: Rule, complaint: Complaint, options: LintOptions
) -> Finding:
    notes = [Note(each.message, launch.span(each.at)) for each in complaint.related]
    own, missing = _default(launch, rule, complaint, options)
    severity = _level(rule, options) or own
    notes += [Note(f"not certain: {missing}")] if missing and severity == own else []
    span = launch.span(complaint.at)
    diagnostic = Diagnostic(
        rule.code, complaint.message, span, severity, tuple(notes), complaint.help
    )
    path = span.source.name if span else launch.path
    return Finding(rule.name, diagnostic, path, complaint.edits)


def _default(
    launch: LaunchedJob, rule: Rule, complaint: Complaint, options: LintOptions
) -> tuple[Severity, str]:
    """The level of what is said, and what keeps it from being certain.

    What is certain is an error. What would end the run and is not certain is at most a warning, and all else
    at most what the rule's record carries. This is of other people's files and of unknown releases: it says
    nothing of what parc wrote, or where a release is known to run.
    """
    severity = complaint.severity or rule.severity
    if severity == "error" and _stops(rule, complaint):
        missing = next(iter(doubts(launch, rule.stops or OWN, complaint)), None)
        if missing is None or launch.generated:
            return severity, ""
        level = missing.level
        return level if options.own_levels else capped(rule, level, complaint.case), missing.text
    if options.own_levels or launch.generated or (rule.release_bound and _known(launch)):
        return severity, ""
    doubt = of_default(launch, complaint) if severity != "info" else None
    if doubt is not None:
        return doubt.level, doubt.text
    return capped(rule, severity, complaint.case), ""


def _stops(rule: Rule, complaint: Complaint) -> bool:
    """Whether what is said ends the run, so that it is certain or nearly so."""
    if complaint.effect is not None:
        return complaint.effect is Effect.STOPS
    return bool(rule.stops)


def _known(launch: LaunchedJob) -> bool:
    """Whether somebody says which release or fork runs."""
    names = {*filter(None, [launch.framework]), *launch.versions}
    return any(dated(name) and launch.release(name).known for name in names)


def _order(found: Finding) -> tuple[str, int, int, str, str]:
    span = found.diagnostic.span
    place = (span.source.name, span.line, span.column) if span else (found.path, 0, 0)
    return (*place, found.code, found.diagnostic.message)
