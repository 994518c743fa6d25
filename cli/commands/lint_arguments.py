"""The command line of `parc lint`."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path

from parc.dsl.diagnostics import did_you_mean
from parc.lint.finding import LEVELS

from .job_arguments import output_path

FORMATS = ("text", "concise", "json", "github", "sarif", "junit")
#: The file name of what comes through standard input, unless one is given.
STDIN = "stdin.sh"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "paths", nargs="*", metavar="FILE", help="a launch file, a folder to search, or - for stdin"
    )
    _about_the_job(parser)
    _about_rules(parser)
    _about_output(parser)
    parser.epilog = "arguments behind -- are those of the script"


def _about_the_job(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--spec", metavar="JOB", help="the job that the files should run: says where they drift")
    add("--cluster", metavar="NAME", help="where they run, such as std.h100_pod: checks memory")
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
    add("--stdin-filename", default=STDIN, metavar="NAME", help=f"of -; {STDIN} unless given")


def _about_rules(parser: ArgumentParser) -> None:
    add = parser.add_argument
    for name, what in (("select", "only these rules"), ("ignore", "not these rules")):
        add(f"--{name}", action="append", default=[], type=names, metavar="RULES", help=what)
    add(
        "--exclude",
        action="append",
        default=[],
        metavar="PATTERN",
        help="leave out in folders what a pattern of .gitignore names",
    )
    add(
        "--skip-others", action="store_true", help="leave out named files that are not launch files"
    )
    add("--require-complete", action="store_true", help="an unknown fact is an error")
    add("--baseline", type=Path, metavar="FILE", help="say only what this file does not have")
    add(
        "--own-levels",
        action="store_true",
        help="the levels of what rules say, however often they were wrong",
    )
    add("--fail-on", choices=LEVELS, help="exit 1 from this level on; error unless given")


def _about_output(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--format", choices=FORMATS, default="text", help="how to print; text unless given")
    add("--hints", action="store_true", help="print hints too, and every finding in full")
    add("--statistics", action="store_true", help="print how often each rule speaks")
    add("--facts", action="store_true", help="print what was read of every job")
    add(
        "--write-baseline",
        type=output_path,
        metavar="FILE",
        help="write all findings of today, to say none of them again",
    )
    add("--fix", action="store_true", help="change the files where there is one safe cure")
    add("--diff", action="store_true", help="with --fix: print the changes, write nothing")
    add("--explain", metavar="RULE", help="print the page of a rule")


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
        raise ArgumentTypeError(f"expected a version such as 0.19, not `{value}`")
    return name, value


def fork(text: str) -> str:
    from parc.lint.releases.forks import fork_names

    if text not in fork_names():
        help_text = did_you_mean(text, fork_names()) or ", ".join(fork_names())
        raise ArgumentTypeError(f"unknown fork `{text}`; {help_text}")
    return text
