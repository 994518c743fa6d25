"""Every example compiled once per test run, whichever of its processes asks first."""

from __future__ import annotations

from contextlib import chdir
from dataclasses import dataclass
from functools import cache

import parc
from parc.api import emit, plan_targets
from parc.compiler.plan import Plan
from parc.printing.plan_json import lock
from parc.writing.output_folder import MANIFEST, manifest
from tests.support.once_per_run import once_per_run
from tests.support.paths import ROOT

EXAMPLES = {path.stem: path for path in sorted((ROOT / "examples").glob("*.par"))}


@dataclass(frozen=True)
class Compiled:
    """What `parc compile` makes of one job: its plans, the best first, and every file."""

    plans: tuple[Plan, ...]
    files: dict[str, str]
    complaints: tuple[str, ...]


@cache
def compiled(example: str) -> Compiled:
    return once_per_run(f"compiled {example}", lambda: _compiled(example))


def _compiled(example: str) -> Compiled:
    with chdir(ROOT):  # emitted files name the job as it was given
        job = parc.load(f"examples/{EXAMPLES[example].name}")
    planned, emitted = emit(plan_targets(job))
    files = {**emitted.files, MANIFEST: lock(planned, manifest(emitted.files))}
    return Compiled(planned.plans, files, tuple(str(found) for found in planned.diagnostics()))
