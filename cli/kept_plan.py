"""The `plan.json` of an output folder -> the layout that a job has there, so that it is not solved again."""

from __future__ import annotations

import json
from collections.abc import Collection
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parc.dsl.diagnostics import JobError
from parc.dsl.inputs.files import bytes_of

from .subjects import LARGEST, MANIFEST
from .writing.receipts import is_remembered

if TYPE_CHECKING:
    from parc.compiler.plan import Estimate
    from parc.dsl.job import Job


#: The folder that every page of the documents and `parc plan` give to `parc compile`.
OUTPUT = Path("out")


def compiled_folders(job: Job) -> tuple[Path, Path]:
    """Where `parc compile JOB -o out` puts a job, alone or among others."""
    return OUTPUT, OUTPUT / job.name


def compiled_estimate(job: Job, targets: Collection[str]) -> tuple[str, Estimate] | None:
    """`kept_estimate` of the folders that `parc compile JOB -o out` wrote here; a plan.json in them that is
    not as this user's parc wrote it is not read, as nobody has named it."""
    for folder in compiled_folders(job):
        with suppress(OSError, ValueError, JobError):
            if is_remembered(folder / MANIFEST, bytes_of(str(folder / MANIFEST), LARGEST)):
                return kept_estimate(folder, job, targets)
    return None


def kept_estimate(folder: Path, job: Job, targets: Collection[str]) -> tuple[str, Estimate] | None:
    """The target and the price of a job's best plan in a folder; None where its `plan.json` is none, is of
    another job, other texts, overrides or targets, or of another release of parc.

    Only the layout is taken from the file, and priced: one that breaks a rule, or that no plan of the job may
    have, is none.
    """
    found = _layout(folder / MANIFEST, job, targets)
    if found is None:
        return None
    from .api import estimate

    target, layout = found
    try:
        return target, estimate(job, layout, target)
    except JobError:
        return None


def _layout(file: Path, job: Job, targets: Collection[str]) -> tuple[str, dict[str, Any]] | None:
    """The target and the layout of the best plan of the file."""
    from parc.compiler.plan import Layout

    try:
        value: Any = json.loads(bytes_of(str(file), LARGEST))
        whose = value["parc"], value["job"]["sha256"], value["job"]["name"]
        planned = [plan["target"] for plan in value["plans"]]
        refused = [complaint["target"] for complaint in value["refused"]]
        if whose != (version("parc-compiler"), job.digest, job.name):
            return None
        # A target that the folder says nothing of may have a better plan.
        if not set(targets) <= {*planned, *refused}:
            return None
        best = next(plan for plan in value["plans"] if plan["target"] in targets)
        layout = {name: best["layout"][name] for name in Layout.model_fields}
    except (OSError, ValueError, RecursionError, KeyError, TypeError, StopIteration):
        return None
    return str(best["target"]), layout
