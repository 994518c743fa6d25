"""`[tool.parc]` of pyproject.toml, or parc.toml, above the current folder -> settings of `parc lint`."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..dsl.codes import NOT_UTF8, SYNTAX, UNKNOWN_NAME, WRONG_KIND
from ..dsl.diagnostics import Diagnostic, JobError, Severity, did_you_mean
from ..dsl.inputs.documents import LONGEST_TOML, toml_table
from ..dsl.inputs.files import bytes_of, is_outside, reason_of
from .finding import LEVELS
from .releases.forks import fork_names
from .rule import FIRST

_LISTS = ("select", "ignore", "exclude")
_TEXTS = ("fail-on", "cluster", "spec", "fork", "rules", "baseline", "exceptions", "site")
#: Settings that name files, which are read in the settings' own folder alone.
_FILES = ("baseline", "exceptions", "spec")
_TABLES = ("per-file-ignores", "severity", "framework-version", "env")
_SEVERITIES = LEVELS[:-1]
#: The start of an address that SARIF takes in a `helpUri`.
_ADDRESS = re.compile(r"https?://[\w.-]+(?::\d+)?(?:/[\w.~%/-]*)?", re.ASCII)
_DATED = re.compile(r"\d{4}-(0[1-9]|1[0-2])")


@dataclass(frozen=True)
class ProjectSettings:
    """A project's settings; the command line overrides them. Paths in them are below `folder`.

    `rules` is a dated set, such as 2026-11: rules that came later do not speak. `site` is where the
    pages that `make site` builds can be read, such as https://docs.example.org/parc.
    """

    folder: Path = field(default_factory=Path)
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    fail_on: str | None = None
    cluster: str | None = None
    spec: str | None = None
    rules: str | None = None
    baseline: Path | None = None
    exceptions: Path | None = None
    fork: str | None = None
    site: str | None = None
    per_file: Mapping[str, Sequence[str]] = field(default_factory=dict)
    severities: Mapping[str, Severity] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)


def load_project_settings(folder: Path) -> ProjectSettings:
    """The nearest settings at or above a folder. Raises `JobError` for what they cannot mean."""
    for place in (folder, *folder.parents):
        if is_outside(place):
            break
        own = place / "parc.toml"
        if own.is_file():
            return _settings(own, _parsed(own))
        project = place / "pyproject.toml"
        if project.is_file():
            tools = _parsed(project).get("tool")
            if isinstance(tools, dict) and "parc" in tools:
                return _settings(project, tools["parc"])
    return ProjectSettings()


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return toml_table(bytes_of(path, LONGEST_TOML).decode())
    except UnicodeDecodeError as error:
        raise JobError(
            [Diagnostic(NOT_UTF8, f"`{path}` is not UTF-8 text: {error.reason}")]
        ) from None
    except (OSError, ValueError) as error:
        raise JobError([Diagnostic(SYNTAX, f"`{path}`: {reason_of(error)}")]) from None


def _settings(path: Path, table: Any) -> ProjectSettings:
    if not isinstance(table, dict):
        raise JobError([Diagnostic(WRONG_KIND, f"`{path}`: [tool.parc] is not a table")])
    problems = [problem for key, value in table.items() if (problem := _problem(path, key, value))]
    if problems:
        raise JobError(problems)
    files = {name: path.parent / table[name] for name in _FILES if name in table}
    return ProjectSettings(
        folder=path.parent,
        select=tuple(table.get("select", ())),
        ignore=tuple(table.get("ignore", ())),
        exclude=tuple(table.get("exclude", ())),
        fail_on=table.get("fail-on"),
        cluster=table.get("cluster"),
        spec=os.path.relpath(files["spec"]) if "spec" in files else None,
        rules=table.get("rules"),
        baseline=files.get("baseline"),
        exceptions=files.get("exceptions"),
        fork=table.get("fork"),
        site=table.get("site"),
        per_file=table.get("per-file-ignores", {}),
        severities=table.get("severity", {}),
        versions=table.get("framework-version", {}),
        environment=table.get("env", {}),
    )


def _problem(path: Path, key: str, value: Any) -> Diagnostic | None:
    known = (*_LISTS, *_TEXTS, *_TABLES)
    if key not in known:
        help_text = did_you_mean(key, known) or ", ".join(known)
        return Diagnostic(UNKNOWN_NAME, f"`{path}`: parc has no setting `{key}`", help=help_text)
    if key in _LISTS and not _texts(value):
        return Diagnostic(WRONG_KIND, f"`{path}`: `{key}` is not a list of strings")
    if key in _TEXTS and not isinstance(value, str):
        return Diagnostic(WRONG_KIND, f"`{path}`: `{key}` is not a string")
    if key in _FILES and not _is_below(path.parent, value):
        message = f"`{path}`: `{key}` leads out of its folder: `{value}`"
        return Diagnostic(WRONG_KIND, message, help=f"put the file beside {path.name}, or below it")
    if key == "fail-on" and value not in LEVELS:
        help_text = did_you_mean(value, LEVELS) or f"one of {', '.join(LEVELS)}"
        return Diagnostic(
            WRONG_KIND, f"`{path}`: `fail-on` is not a level: `{value}`", help=help_text
        )
    if key == "rules" and not _DATED.fullmatch(value):
        message = f"`{path}`: `rules` is not a year and month: `{value}`"
        return Diagnostic(WRONG_KIND, message, help=f'such as rules = "{FIRST}"')
    if key == "site" and not _ADDRESS.fullmatch(value):
        message = f"`{path}`: `site` is not a URL: `{value}`"
        return Diagnostic(
            WRONG_KIND, message, help='such as site = "https://docs.example.org/parc"'
        )
    if key == "severity" and (wrong := _no_level(value)):
        help_text = did_you_mean(wrong, _SEVERITIES) or f"one of {', '.join(_SEVERITIES)}"
        message = f"`{path}`: `severity` has no level `{wrong}`"
        return Diagnostic(WRONG_KIND, message, help=help_text)
    if key == "fork" and value not in fork_names():
        help_text = did_you_mean(value, fork_names()) or f"one of {', '.join(fork_names())}"
        return Diagnostic(
            UNKNOWN_NAME, f"`{path}`: parc does not know the fork `{value}`", help=help_text
        )
    if key in _TABLES and not _table(key, value):
        return Diagnostic(WRONG_KIND, f"`{path}`: `{key}` is not a table of the right kind")
    return None


def _is_below(folder: Path, name: str) -> bool:
    """Whether a file is below a folder, also behind links: settings come with a repository."""
    if "\0" in name:
        return False
    root = os.path.realpath(folder)
    return os.path.realpath(folder / name).startswith(root.rstrip(os.sep) + os.sep)


def _no_level(table: Any) -> str | None:
    levels = table.values() if isinstance(table, dict) else ()
    return next((str(level) for level in levels if level not in _SEVERITIES), None)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _table(key: str, value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if key == "per-file-ignores":
        return all(_texts(item) for item in value.values())
    return all(isinstance(item, str) for item in value.values())
