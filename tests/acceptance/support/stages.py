"""A job's text -> the files of each of its stages, as `parc compile` writes them."""

from __future__ import annotations

from pathlib import Path

import parc
from parc.api import Planned, emit, plan_targets
from tests.acceptance.support.recorded_launches import write


def compiled(text: str, folder: Path) -> dict[str, Path]:
    """The folder of each stage's files below `folder`, `one` without stages; the job is named `tiny`."""
    folder.mkdir(parents=True)
    path = folder / "tiny.par"
    path.write_text(text)
    job = parc.load(path)
    found: dict[str, Path] = {}
    previous: Planned | None = None
    for stage in job.stages or (job,):
        previous, files = emit(plan_targets(stage), previous)
        assert previous.plans and not previous.complaints, previous.complaints
        name = stage.stage or "one"
        found[name] = write(files.files, folder / name)
    return found
