"""A section or a key that torchtitan does not know.

Why:
torchtitan stops at load: "Invalid field names". Where the release is named, by the files or by the settings
of lint, every key that it lacks is an error. Else a key that no release has had is a warning if it resembles
one of the last release that the file may be for, and a hint otherwise. Two or more that resemble one, and
whose names no section has, are a fork's own, and so are all beside a section that resembles none: hints.
Nothing is said of what the configuration of a torchtitan in the same repository declares.

Bad:
[training]
local_batch_size = 8
seq_length = 4096

[parallelism]
tensor_parallel_degree = 2

Good:
[training]
local_batch_size = 8
seq_len = 4096

[parallelism]
tensor_parallel_degree = 2
"""

import re
from collections.abc import Iterator, Sequence

from ....backends.torchtitan.constraints.setting_values import FOREIGN, LAST_TOML, OWN_CONFIG
from ....backends.torchtitan.schema import Kinds, kinds_of
from ....dsl.diagnostics import Severity, did_you_mean
from ....reading.facts import Setting
from ...facts.launched_job import LaunchedJob
from ...facts.release import Release
from ...finding import Complaint

CODE = "PAR365"
TITLE = "a setting that torchtitan does not know"
SEVERITY = "error"
SOURCE = "torchtitan 0.2.2 config/manager.py:168"
FILE = "train.toml"
RELEASE_BOUND = True
OPTIONS = ("--framework-version", "torchtitan=0.2.2")


_ARGUMENT = re.compile(r"[\"']--(\w+(?:\.\w+)+)[\"']")
_CLASS = re.compile(r"^class (\w+)\b[^\n]*:\n((?:[ \t][^\n]*\n|\n)*)", re.MULTILINE)
_FIELD = re.compile(r"^[ \t]+(\w+)[ \t]*:", re.MULTILINE)


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    if launch.framework != "torchtitan":
        return
    settings = launch.all("toml")
    if any(setting.name.startswith("job.custom_config_module") for setting in settings):
        return
    release = launch.release("torchtitan")
    kinds = kinds_of(release.history.at(_judged(release)))
    odd = [each for each in settings if release.known or each.name not in release.history]
    of_fork = [] if release.known else _own_of_a_fork(odd, kinds)
    if not odd:
        return
    declared = _declared(launch)
    for setting in (each for each in odd if not _declares(declared, each.name)):
        yield from _unknown(setting, kinds, release, setting in of_fork)


def _declared(launch: LaunchedJob) -> dict[str, set[str]]:
    """Class -> fields of the configuration of a torchtitan that lies in the same repository."""
    text = next((found for path in OWN_CONFIG if (found := launch.beside(path))), "")
    fields: dict[str, set[str]] = {}
    for match in _CLASS.finditer(text):
        fields[match[1].lower()] = set(_FIELD.findall(match[2]))
    for name in _ARGUMENT.findall(text):
        section, _, key = name.rpartition(".")
        fields.setdefault(_class_of(section), set()).add(key)
    return fields


def _declares(fields: dict[str, set[str]], name: str) -> bool:
    section, _, key = name.rpartition(".")
    return key in fields.get(_class_of(section), ())


def _class_of(section: str) -> str:
    return section.rpartition(".")[2].replace("_", "")


def _own_of_a_fork(odd: Sequence[Setting], sections: Kinds) -> list[Setting]:
    """Keys whose names no section has, if several resemble one: a slip of the pen comes alone. All odd keys,
    where a whole section is nobody's."""
    names = {key for keys in sections.values() for key in keys}
    own: dict[str, Setting] = {}
    for setting in odd:
        section, _, key = setting.name.rpartition(".")
        if section and not _like(section.split(".")[0], sections):
            return list(odd)
        foreign = section.split(".")[0] in FOREIGN or key in names
        if not foreign and did_you_mean(key, sections.get(section, ())):
            own[setting.name] = setting
    return list(own.values()) if len(own) > 1 else []


def _like(section: str, sections: Kinds) -> bool:
    return section in FOREIGN or section in sections or did_you_mean(section, sections) is not None


def _judged(release: Release) -> str:
    """The release that is known, else the last that the settings may be for and that reads TOML."""
    if release.release is not None:
        return release.release
    toml = [each for each in release.possible if not release.history.earlier(LAST_TOML, each)]
    return toml[-1] if toml else LAST_TOML


def _unknown(
    setting: Setting, sections: Kinds, release: Release, of_fork: bool
) -> Iterator[Complaint]:
    version = release.said if release.known else f"torchtitan {_judged(release)}"
    section, _, key = setting.name.rpartition(".")
    if section.split(".")[0] in FOREIGN or key in sections.get(section, ()):
        return
    if section in sections:
        near = did_you_mean(key, sections[section])
        message = f"[{section}] has no key `{key}` in {version}"
        yield Complaint(message, setting, help=near, severity=_severity(release, near, of_fork))
    elif not any(known.startswith(f"{section}.") for known in sections) or key:
        parent, _, name = section.rpartition(".")
        if name not in sections.get(parent, ()):
            near = did_you_mean(section, sections)
            message = f"there is no section [{section}] in {version}"
            yield Complaint(message, setting, help=near, severity=_severity(release, near, of_fork))


def _severity(release: Release, near: str | None, of_fork: bool) -> Severity:
    """Without a release, what resembles no key may be one of an experiment."""
    return release.severity("warning" if near and not of_fork else "info")
