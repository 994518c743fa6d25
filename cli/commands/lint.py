"""say what is wrong with launch files, without running them"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from codecs import BOM_UTF8
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from parc.dsl.diagnostics import Diagnostic, JobError
from parc.dsl.inputs.budget import Budget
from parc.dsl.inputs.files import MOST_BYTES, current_folder, first_bytes
from parc.lint.finding import LEVELS

from .. import codes
from ..printing.terminal import line_width, print_page, print_text
from .lint_arguments import arguments as arguments
from .rules import explained, no_rule

if TYPE_CHECKING:
    from parc.dsl.hardware import Cluster
    from parc.dsl.job import Job
    from parc.lint.judging import Judged, LintOptions
    from parc.lint.launch_texts import Texts
    from parc.lint.project_settings import ProjectSettings

NAME = "lint"
STANDARD_INPUT = "-"


def run(arguments: Namespace) -> int:
    if arguments.explain:
        print_page(explained(arguments.explain))
        return 0
    if not arguments.paths:
        raise JobError([Diagnostic(codes.NO_FILES, "no launch file is named", help="parc lint .")])
    from parc.lint.project_settings import load_project_settings

    config = load_project_settings(current_folder())
    judged = _judged(arguments, config)
    if arguments.write_baseline:
        return _write_baseline(arguments.write_baseline, judged)
    if arguments.fix or arguments.diff:
        judged = _fix(arguments, config, judged)
    fail_on = arguments.fail_on or config.fail_on or "error"
    _print(arguments, judged, config.site, arguments.hints or fail_on == "info")
    return _exit_code(judged, fail_on)


def _judged(arguments: Namespace, config: ProjectSettings) -> list[Judged]:
    from parc.lint.accepted.said import said
    from parc.lint.run import lint_texts
    from parc.lint.without_launch import marked, refuse_others

    options, budget = _options(arguments, config), Budget()
    read = _texts(arguments, config, budget)
    named = {path: read.texts[path] for path in read.named}
    refuse_others(named)
    environment = {**config.environment, **dict(arguments.env)}
    judged = lint_texts(read.texts, options, environment, tuple(arguments.script), budget)
    # Where others are left out, or the search ended early, a folder without a launch is no mistake.
    empty = () if arguments.skip_others or budget.left_out else read.empty
    return said(marked(judged, named, empty), options)


def _texts(arguments: Namespace, config: ProjectSettings, budget: Budget) -> Texts:
    """The texts to be judged, those in folders and standard input, where it is -, too."""
    from parc.lint.discovery import Left
    from parc.lint.launch_texts import read_texts

    given = Left(patterns=tuple(arguments.exclude))
    left = Left(config.folder, config.exclude) if not arguments.exclude else given
    paths = [path for path in arguments.paths if path != STANDARD_INPUT]
    read = read_texts(paths, arguments.skip_others, left, budget)
    if read.unreadable:
        raise JobError(read.unreadable)
    if paths == arguments.paths:
        return read
    name = arguments.stdin_filename
    return replace(read, texts={**read.texts, name: _standard_input()}, named=(*read.named, name))


def _standard_input() -> str:
    data = sys.stdin.buffer.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES or b"\0" in data:
        message = f"standard input is not a launch file: over {MOST_BYTES:,} bytes, or binary"
        raise JobError([Diagnostic(codes.NO_FILES, message)])
    return data.decode("utf-8-sig", errors="replace")


def _options(arguments: Namespace, config: ProjectSettings) -> LintOptions:
    from parc.lint.accepted.baseline import load_baseline
    from parc.lint.accepted.exceptions import load_exceptions
    from parc.lint.judging import LintOptions

    baseline = None if arguments.write_baseline else arguments.baseline or config.baseline
    select, ignore = (
        tuple(name for given in lists for name in given)
        for lists in (arguments.select, arguments.ignore)
    )
    _refuse_unknown((*select, *ignore, *config.select, *config.ignore, *config.severities))
    return LintOptions(
        job=_spec(arguments.spec or config.spec),
        cluster=_cluster(arguments.cluster or config.cluster),
        select=select or tuple(config.select),
        ignore=(*ignore, *config.ignore),
        per_file=config.per_file,
        severities=config.severities,
        rules=config.rules,
        exceptions=load_exceptions(config.exceptions) if config.exceptions else (),
        baseline=None if baseline is None else load_baseline(baseline),
        versions={**config.versions, **dict(arguments.framework_version)},
        fork=arguments.fork or config.fork,
        own_levels=arguments.own_levels,
        require_complete=arguments.require_complete,
    )


def _refuse_unknown(wanted: Sequence[str]) -> None:
    from parc.compiler.codes import change, is_retired
    from parc.lint.rules import RULES

    known = [name for rule in RULES for name in (rule.code, rule.name)]
    unknown = [
        name
        for name in wanted
        if name not in known
        and not is_retired(name)
        and not (name.startswith("PAR") and any(rule.code.startswith(name) for rule in RULES))
    ]
    if unknown:
        raise JobError([no_rule(name, known) for name in unknown])
    for name in sorted(filter(is_retired, set(wanted))):
        print(f"note: {change(name)}", file=sys.stderr)


def _spec(path: str | None) -> Job | None:
    if path is None:
        return None
    import parc

    return parc.load(path)


def _cluster(name: str | None) -> Cluster | None:
    if name is None:
        return None
    from parc.lint.std_cluster import cluster_named

    return cluster_named(name)


def _print(arguments: Namespace, judged: list[Judged], site: str | None, hints: bool) -> None:
    from parc.lint.formats import FORMATS as PRINTERS
    from parc.lint.formats.fact_table import facts_text
    from parc.lint.formats.sarif import sarif
    from parc.lint.formats.statistics import statistics, statistics_json
    from parc.lint.formats.text import concise, text

    if arguments.diff:
        return
    if arguments.statistics:
        print(statistics_json(judged) if arguments.format == "json" else statistics(judged))
        return
    if arguments.facts and arguments.format in ("text", "concise"):
        print(facts_text(judged))
    if arguments.format == "text":
        print(text(judged, line_width(sys.stdout), hints))
    elif arguments.format == "concise":
        print(concise(judged, hints))
    elif arguments.format == "sarif":
        print(sarif(judged, site))
    else:
        print(PRINTERS[arguments.format](judged))


def _write_baseline(path: Path, judged: list[Judged]) -> int:
    from parc.lint.accepted.baseline import baseline_text, is_baseline
    from parc.lint.formats.summary import counted
    from parc.lint.judging import findings

    from ..writing.single_file import refuse, replace

    found = findings(judged)
    refuse(path, is_baseline, force=False)
    replace(path, baseline_text(found))
    print_text(
        f"{path}: {counted(len(found), 'finding')}, which --baseline {path} does not say again"
    )
    return 0


def _fix(arguments: Namespace, config: ProjectSettings, judged: list[Judged]) -> list[Judged]:
    """Write the cures, or show them, and judge what is left."""
    from parc.lint.fix import fixes

    from ..writing.output_folder import Change

    changed = list({os.path.realpath(fixed.path): fixed for fixed in fixes(judged)}.values())
    complaints: list[Diagnostic] = []
    for fixed in changed:
        change = Change(fixed.path, fixed.before.encode(), fixed.after.encode())
        if arguments.diff:
            sys.stdout.write(change.diff())
            continue
        try:
            _write(fixed.path, fixed.before, fixed.after)
        except JobError as error:
            complaints += error.diagnostics
        else:
            print(f"fixed {fixed.path}: {fixed.findings}", file=sys.stderr)
    if complaints:
        raise JobError(complaints)
    return judged if arguments.diff or not changed else _judged(arguments, config)


def _write(path: str, before: str, after: str) -> None:
    """Replace a file's text; its byte order mark, mode and newlines stay."""
    from ..writing.single_file import rewrite

    has_mark = first_bytes(path, len(BOM_UTF8)) == BOM_UTF8
    mark = BOM_UTF8 if has_mark else b""
    rewrite(Path(path), mark + before.encode(), mark + after.encode())


def _exit_code(judged: list[Judged], fail_on: str) -> int:
    if fail_on == "never":
        return 0
    levels = LEVELS[LEVELS.index(fail_on) :]
    return int(any(found.severity in levels for each in judged for found in each.findings))
