"""A job's text -> the files of each of its stages, as `parc compile` writes them."""

from __future__ import annotations

from pathlib import Path

import parc
from parc.api import emit
from parc.staging import planned_stages
from tests.acceptance.support.recorded_launches import write


def compiled(text: str, folder: Path) -> dict[str, Path]:
    """The folder of each stage's files below `folder`, `one` without stages; the job is named `tiny`."""
    folder.mkdir(parents=True)
    job = folder / "tiny.par"
    job.write_text(text)
    found: dict[str, Path] = {}
    for planned in planned_stages(parc.load(job)):
        done, files = emit(planned)
        assert done.plans and not done.complaints, done.complaints
        name = done.job.stage or "one"
        found[name] = write(files.files, folder / name)
    return found
