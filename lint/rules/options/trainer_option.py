"""An option of Transformers' Trainer that the release does not have: renamed, removed, or not there yet.

Why:
HfArgumentParser stops at options that no dataclass has. Where the release is named, by the script or with
`--framework-version transformers=4.57`, that is an error; else what the newest release lacks is a hint.

Bad:
torchrun --nproc-per-node 8 run_clm.py --model_name_or_path gpt2 --output_dir out \\
    --per_device_train_batch_size 4 --learning_rate 1e-4 --evaluation_strategy steps

Good:
torchrun --nproc-per-node 8 run_clm.py --model_name_or_path gpt2 --output_dir out \\
    --per_device_train_batch_size 4 --learning_rate 1e-4 --eval_strategy steps
"""

from collections.abc import Iterator

from ....dsl.diagnostics import Severity
from ....reading.facts import Setting
from ...facts.launched_job import LaunchedJob
from ...facts.release import TRANSFORMERS, Release
from ...facts.trainer import trainer_argument, training_arguments
from ...facts.trainer_parser import fields_beside
from ...finding import Complaint
from .removed_option import renaming

CODE = "PAR389"
TITLE = "an option that Transformers' Trainer does not have"
SEVERITY = "info"
SOURCE = "transformers 4.20.1 to 5.24.0 training_args.py (lint/releases/transformers.csv)"
RELEASE_BOUND = True
OPTIONS = ("--framework-version", "transformers=4.57")

#: Arguments that LLaMA-Factory declares beside those of Transformers (hparams/training_args.py).
_LLAMA_FACTORY = frozenset({"--overwrite_output_dir"})


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    release = launch.release(TRANSFORMERS)
    for setting in training_arguments(launch):
        lacks = setting.name in release.history and not _has(release, setting.name)
        if lacks and not _declared(launch, setting.name):
            yield _complaint(launch, setting, release)


def _has(release: Release, name: str) -> bool:
    """Whether the release that is known, else the newest that may be installed, has an option; one that no
    table lists may have any."""
    return release.judged is None or release.judged in release.history.releases_with(name)


def _declared(launch: LaunchedJob, option: str) -> bool:
    """Whether the Python of the repository has a field of this name or takes it."""
    if option in _LLAMA_FACTORY and trainer_argument(launch, "finetuning_type") is not None:
        return True
    return launch.declares(option)


def _severity(launch: LaunchedJob, setting: Setting, release: Release) -> Severity:
    """A program of one's own whose parser is not in sight may declare the option itself, whatever the release
    that a script installs."""
    own = launch.config.program.endswith(".py") and fields_beside(launch) is None
    said = release.severity()
    return "warning" if said == "error" and own and TRANSFORMERS not in launch.versions else said


def _complaint(launch: LaunchedJob, setting: Setting, release: Release) -> Complaint:
    name, having = setting.name, release.history.releases_with(setting.name)
    judged = release.judged or release.history.newest
    gone = release.history.earlier(having[-1], judged)
    when = f"{having[-1]} was the last" if gone else f"{having[0]} is the first"
    instead = release.history.forms_of(name)[-1].instead if gone else ""
    usable = bool(instead) and _has(release, f"--{instead}")
    mark = "--" if setting.scope == "argument" else ""
    return Complaint(
        f"{mark}{name.removeprefix('--')} is not in {release.newest}: {when} release with it",
        setting,
        help=f"use {mark}{instead}" if usable else "remove it" if gone else None,
        severity=_severity(launch, setting, release),
        edits=renaming(launch, setting, f"--{instead}") if usable and mark else (),
    )
