"""say what is wrong with launch files, without running them"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from codecs import BOM_UTF8
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parc.dsl.diagnostics import Diagnostic, JobError, did_you_mean
from parc.dsl.inputs.files import current_folder, first_bytes
from parc.lint.finding import LEVELS

from .. import codes
from ..printing.terminal import print_text
from .rules import explained, no_rule

if TYPE_CHECKING:
    from parc.dsl.hardware import Cluster
    from parc.dsl.job import Job
    from parc.lint.judging import Judged, LintOptions
    from parc.lint.project_settings import ProjectSettings

NAME = "lint"
FORMATS = ("text", "concise", "json", "github", "sarif", "junit")


def arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("paths", nargs="*", metavar="FILE", help="a launch file, or a folder to search")
    add("--spec", metavar="JOB", help="the job that the files should run: says where they drift")
    add("--cluster", metavar="NAME", help="where they run, such as std.h100_pod: checks memory")
    for name, what in (("select", "only these rules"), ("ignore", "not these rules")):
        add(f"--{name}", action="append", default=[], type=names, metavar="RULES", help=what)
    add("--fail-on", choices=LEVELS, help="exit 1 from this level on; error unless given")
    add("--format", choices=FORMATS, default="text", help="how to print; text unless given")
    add("--facts", action="store_true", help="print what was read of every job")
    add("--fix", action="store_true", help="change the files where there is one safe cure")
    add("--diff", action="store_true", help="with --fix: print the changes, write nothing")
    add("--skip-others", action="store_true", help="leave out named files that are no launch files")
    add("--require-complete", action="store_true", help="an unknown fact is an error")
    add(
        "--framework-version",
        action="append",
        default=[],
        type=version,
        metavar="NAME=VERSION",
        help="the release to judge for, such as megatron=0.19",
    )
    add("--fork", type=fork, metavar="NAME", help="the fork of Megatron-LM to judge for")
    add("--env", action="append", default=[], type=pair, metavar="NAME=VALUE", help="a variable")
    add("--explain", metavar="RULE", help="print the page of a rule")
    parser.epilog = "arguments behind -- are those of the script"


def names(text: str) -> list[str]:
    return [name for name in text.replace(",", " ").split() if name]


def pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise ArgumentTypeError(f"`{text}` is not NAME=VALUE")
    return name, value


def version(text: str) -> tuple[str, str]:
    from parc.lint.facts.release import datable
    from parc.lint.facts.versions import is_version

    name, value = pair(text)
    if name not in datable():
        help_text = did_you_mean(name, datable()) or ", ".join(datable())
        raise ArgumentTypeError(f"unknown framework `{name}`; {help_text}")
    if not is_version(value):
        raise ArgumentTypeError(f"`{value}` is no version such as 0.19")
    return name, value


def fork(text: str) -> str:
    from parc.lint.releases.forks import fork_names

    if text not in fork_names():
        help_text = did_you_mean(text, fork_names()) or ", ".join(fork_names())
        raise ArgumentTypeError(f"unknown fork `{text}`; {help_text}")
    return text


def run(arguments: Namespace) -> int:
    if arguments.explain:
        print_text(explained(arguments.explain))
        return 0
    if not arguments.paths:
        raise JobError([Diagnostic(codes.NO_FILES, "no launch file is named", help="parc lint .")])
    from parc.lint.project_settings import load_project_settings

    config = load_project_settings(current_folder())
    judged = _judged(arguments, config)
    if arguments.fix or arguments.diff:
        judged = _fix(arguments, config, judged)
    _print(arguments, judged)
    return _exit_code(judged, arguments.fail_on or config.fail_on or "error")


def _judged(arguments: Namespace, config: ProjectSettings) -> list[Judged]:
    from parc.lint.files import read_texts
    from parc.lint.run import lint_texts

    options = _options(arguments, config)
    found = read_texts(arguments.paths, arguments.skip_others)
    if found.unreadable:
        raise JobError(found.unreadable)
    if not found.texts and not arguments.skip_others:
        message = f"no launch file in {', '.join(f'`{path}`' for path in arguments.paths)}"
        help_text = "name the files; folders are searched for what starts or configures training"
        raise JobError([Diagnostic(codes.NO_FILES, message, help=help_text)])
    environment = {**config.environment, **dict(arguments.env)}
    return lint_texts(found.texts, options, environment, tuple(arguments.script))


def _options(arguments: Namespace, config: ProjectSettings) -> LintOptions:
    from parc.lint.judging import LintOptions

    select, ignore = (
        tuple(name for given in lists for name in given)
        for lists in (arguments.select, arguments.ignore)
    )
    _refuse_unknown((*select, *ignore, *config.select, *config.ignore))
    return LintOptions(
        job=_spec(arguments.spec or config.spec),
        cluster=_cluster(arguments.cluster or config.cluster),
        select=select or tuple(config.select),
        ignore=(*ignore, *config.ignore),
        per_file=config.per_file,
        versions={**config.versions, **dict(arguments.framework_version)},
        fork=arguments.fork or config.fork,
        require_complete=arguments.require_complete,
    )


def _refuse_unknown(wanted: Sequence[str]) -> None:
    from parc.compiler.codes import RETIRED, change
    from parc.lint.rules import RULES

    known = [name for rule in RULES for name in (rule.code, rule.name)]
    unknown = [
        name
        for name in wanted
        if name not in known
        and name not in RETIRED
        and not (name.startswith("PAR") and any(rule.code.startswith(name) for rule in RULES))
    ]
    if unknown:
        raise JobError([no_rule(name, known) for name in unknown])
    for name in RETIRED.keys() & wanted:
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


def _print(arguments: Namespace, judged: list[Judged]) -> None:
    from parc.lint.formats import FORMATS as PRINTERS
    from parc.lint.formats.facts import facts_text

    if arguments.diff:
        return
    if arguments.facts and arguments.format in ("text", "concise"):
        print(facts_text(judged))
    print(PRINTERS[arguments.format](judged))


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
