"""Files and folders that were named and hold nothing to judge -> which, why, and what reads them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePath

from ..dsl.diagnostics import JobError
from ..dsl.inputs.documents import json_value
from ..reading.facts import UNREAD, LaunchConfig
from .discovery import looks_like_launch
from .finding import WithoutLaunch
from .judging import Judged

_READS = "parc lint reads scripts and configurations that start training, alone or in a folder"
_SCRIPT = "name the script that starts it: its options are read there"
_WITH_SCRIPT = "name it with the script that starts it: `parc lint train.sh {path}`"
_NOTEBOOK = "name a script: `jupyter nbconvert --to script {path}` writes the lines of its cells"
#: The first block of a job.
_JOB = re.compile(r"\s*(?:#[^\n]*\n\s*)*(?:model|cluster|train|target|goal)\b[^\n={]*\{")
#: Of a path and its text, whether it is such a file.
Tells = Callable[[str, str], bool]


def refuse_others(named: Mapping[str, str]) -> None:
    """Raises `JobError` for files that another command reads, whatever else was named."""
    others = [other for path, text in named.items() if (other := _first(_OTHERS, path, text))]
    if others:
        raise JobError([each.diagnostic for each in others])


def marked(
    judged: Sequence[Judged], named: Mapping[str, str], empty: Iterable[str] = ()
) -> list[Judged]:
    """The jobs, and behind them the named files and `empty` folders without a launch. Raises `JobError` where
    nothing else was named."""
    idle = {path: told for path, text in named.items() if (told := _idle(path, text, judged))}
    idle |= {path: _folder(path) for path in empty}
    kept = [each for each in judged if not idle.keys() & each.config.texts.keys()]
    if idle and not kept:
        raise JobError([each.diagnostic for each in idle.values()])
    return [*kept, *(Judged(_nothing(path), (), {}, idle=told) for path, told in idle.items())]


def _nothing(path: str) -> LaunchConfig:
    return LaunchConfig(UNREAD, (), (), texts={path: ""})


def _idle(path: str, text: str, judged: Sequence[Judged]) -> WithoutLaunch | None:
    """None for a file of which a job says something, and for a script that looks as if it starts one."""
    jobs = [each for each in judged if path in each.config.texts]
    if any(map(_speaks, jobs)) or (not jobs and _read_by_name(path, judged)):
        return None
    if known := _first(_NO_SCRIPTS, path, text):
        return known
    if looks_like_launch(path, text):
        return None
    if known := _first(_OTHER_TEXTS, path, text):
        return known
    reason = next((each.reason for job in jobs for each in job.config.unread), "")
    why = reason.replace("it is", "is", 1) if reason.startswith("it is") else "starts no training"
    return WithoutLaunch(path, f"`{path}` {why}", _READS)


def _speaks(judged: Judged) -> bool:
    """Whether a job has a command, a fact or a setting, or is complained of."""
    config = judged.config
    complained = any(found.severity != "info" for found in judged.findings)
    return bool(config.command or config.facts or config.settings or complained)


def _read_by_name(path: str, judged: Sequence[Judged]) -> bool:
    """Whether the files of a job with a command name this one."""
    name = PurePath(path).name
    texts = (text for each in judged if each.config.command for text in each.config.texts.values())
    return any(name in text for text in texts)


def _first(kinds: Sequence[tuple[Tells, str, str]], path: str, text: str) -> WithoutLaunch | None:
    for tells, what, help_text in kinds:
        if tells(path, text):
            cure = help_text.format(path=path, folder=PurePath(path).parent)
            return WithoutLaunch(path, f"`{path}` {what}", cure)
    return None


def _called(pattern: str) -> Tells:
    """Whether the last part of a path has a match."""
    name = re.compile(pattern)
    return lambda path, text: name.search(PurePath(path).name) is not None


def _is_yaml(path: str) -> bool:
    return path.lower().endswith((".yaml", ".yml"))


def _is_model(path: str, text: str) -> bool:
    """Whether a text is the config.json of a model of Hugging Face."""
    if not path.endswith(".json"):
        return False
    from ..reading.huggingface.config_settings import model_type

    return model_type(text) is not None


def _is_plan(path: str, text: str) -> bool:
    """Whether parc wrote a plan.json."""
    if not path.endswith(".json") or '"plans"' not in text:
        return False
    try:
        table = json_value(text)
    except ValueError:
        return False
    return isinstance(table, dict) and {"plans", "files"} <= table.keys()


def _is_log(path: str, text: str) -> bool:
    from ..backends import readers

    return any(reader.log(text) is not None for reader in readers())


def _is_broken(path: str, text: str) -> bool:
    from ..reading.yaml_settings import yaml_scalars

    if not _is_yaml(path):
        return False
    try:
        yaml_scalars(path, text)
    except ValueError:
        return True
    return False


#: Files that other commands read.
_OTHERS: Sequence[tuple[Tells, str, str]] = (
    (_called(r"\.par$"), "is a job, no launch file", "`parc check {path}`"),
    (_is_model, "is the config of a model, no launch file", "`parc init --hf {path}`"),
)
#: Files that no shell reads, whatever commands stand in them.
_NO_SCRIPTS: Sequence[tuple[Tells, str, str]] = (
    (_called(r"\.ipynb$"), "is a notebook", _NOTEBOOK),
    (_called(r"^(?:Dockerfile|Containerfile)"), "is the recipe of an image", _SCRIPT),
    (_called(r"^(?:GNUm|m|M)akefile$|\.mk$"), "is a makefile", _SCRIPT),
    (_called(r"\.py$"), "is a program, without a configuration that parc reads", _SCRIPT),
)
_OTHER_TEXTS: Sequence[tuple[Tells, str, str]] = (
    (lambda path, text: not text.strip(), "is empty", _READS),
    (lambda path, text: bool(_JOB.match(text)), "is a job, no launch file", "`parc check`"),
    (_is_plan, "is a plan that parc wrote", "lint the files beside it: `parc lint {folder}`"),
    (_is_log, "is the log of a run", "`parc calibrate {path}`"),
    (_is_broken, "is no YAML", "correct it: no reader takes it as it is"),
    (
        lambda path, text: path.lower().endswith((".yaml", ".yml", ".toml", ".json")),
        "is no configuration that parc reads alone",
        _WITH_SCRIPT,
    ),
)


def _folder(path: str) -> WithoutLaunch:
    """A folder that was searched in vain, and the job in it, if there is one."""
    job = min(map(str, Path(path).glob("*.par")), default=None)
    help_text = "name the files; folders are searched for what starts or configures training"
    cure = help_text if job is None else f"`parc check {job}`"
    return WithoutLaunch(path, f"no launch file in `{path}`", cure)
