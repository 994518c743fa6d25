"""SLURM takes every batch script that parc emits on a cluster of exactly its shape, and on no smaller one."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.support import slurm_tools
from tests.acceptance.support.generated_jobs import Generated
from tests.acceptance.support.recorded_launches import write
from tests.acceptance.support.slurm_shapes import FEWER, controller, kind_of

#: What sbatch says of a cluster that cannot run the job, now or later.
IMPOSSIBLE = "Requested node configuration is not available"


@pytest.fixture(scope="module")
def answers(batches: Any, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What sbatch says of each job on its shape, and on one node fewer (of one node: one GPU fewer)."""
    slurm_tools.needs_root()
    slurm_tools.install()
    folder = tmp_path_factory.mktemp("slurm")
    found = []
    jobs = sorted(batches["slurm"].jobs, key=_kind)
    for number, (_, alike) in enumerate(groupby(jobs, _kind)):
        found += _asked(list(alike), folder / f"kind{number}")
    return found


def _kind(job: Generated) -> str:
    assert job.plan is not None
    return repr(kind_of(job.plan))


def _asked(jobs: list[Generated], folder: Path) -> list[dict[str, Any]]:
    plans = [job.plan for job in jobs if job.plan is not None]
    most = max(plan.layout.nodes for plan in plans)
    found = []
    with controller(kind_of(plans[0]), most, folder) as made:
        for job, plan in zip(jobs, plans, strict=True):
            nodes = plan.layout.nodes
            script = _script(job, folder)
            fewer = f"n[1-{nodes - 1}]" if nodes > 1 else FEWER
            found.append(
                {
                    "name": job.name,
                    "taken": made.accepts(script, f"n[1-{nodes}]"),
                    "refused": made.accepts(script, fewer),
                }
            )
    return found


def _script(job: Generated, folder: Path) -> Path:
    """The emitted script, without the directive that this SLURM is too old for."""
    write(job.files, folder / job.name)
    (script,) = (folder / job.name / "slurm").glob("*.sbatch")
    if not slurm_tools.knows("segment"):
        script.write_text(re.sub(r"(?m)^#SBATCH --segment=.*\n", "", script.read_text()))
    return script


def test_enough_jobs_have_a_layout(batches: Any) -> None:
    made = batches["slurm"]
    print(f"slurm: {made.tried} jobs tried, {len(made.jobs)} have a layout")
    assert len(made.jobs) == batches.wanted("slurm")


def test_every_job_is_accepted_on_its_shape(answers: Any) -> None:
    assert not [answer for answer in answers if not answer["taken"][0]]


def test_every_job_is_refused_on_less(answers: Any) -> None:
    wrong = [each for each in answers if each["refused"][0] or IMPOSSIBLE not in each["refused"][1]]
    assert not wrong
