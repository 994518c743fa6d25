"""A job's text -> the files of each of its stages, as `parc compile` writes them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import parc
from parc.api import emit
from parc.backends import BACKENDS
from parc.compiler.plan import Plan
from parc.staging import planned_stages
from tests.acceptance.support.recorded_launches import write


@dataclass(frozen=True)
class Stage:
    """What its one target plans, and the folder of the files."""

    plan: Plan
    folder: Path

    @property
    def script(self) -> Path:
        return self.folder / BACKENDS[self.plan.target].entry


def compiled(text: str, folder: Path) -> dict[str, Stage]:
    """By name, `one` without stages, with files below `folder`; the job is named `tiny`."""
    folder.mkdir(parents=True)
    job = folder / "tiny.par"
    job.write_text(text)
    found: dict[str, Stage] = {}
    for planned in planned_stages(parc.load(job)):
        done, files = emit(planned)
        assert done.plans and not done.complaints, done.complaints
        name = done.job.stage or "one"
        found[name] = Stage(done.plans[0], write(files.files, folder / name))
    return found


#: A training in one piece, and as two stages of which the second carries all: rates stay, then fall.
STEPS = 10
WHOLE = "steps = 10; schedule = wsd; decay_steps = 4; warmup = 2"
PARTS = """
stage main { steps = 6; schedule = constant; warmup = 2 }
stage cool { steps = 4; schedule = wsd; decay_steps = 4; warmup = 2; carry = all }
"""
