"""Plans or written files -> the command to type next."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from parc.backends import BACKENDS, LAUNCHERS
from parc.backends.languages.bash import operand
from parc.compiler.plan import Plan
from parc.dsl.job import Job

from ..api import Planned
from ..writing.written_files import MANIFEST
from .advice_text import may_be_tried, trials_command
from .words.command_paths import argument

#: The output folder of a command that is advised.
OUTPUT = "out"
#: Behind plans of targets without a framework.
_READ = "read {file}: no framework is named, so there is nothing to start"
#: What the short form of a plan leaves out.
WHOLE = "  -v: where memory and time go, checkpoints, runners-up, what was proven"


def planned_lines(job: Job, plans: Sequence[Plan], targets: Collection[str]) -> list[str]:
    """Behind `parc plan`: the call that writes the files of the `targets` that have a plan, and that of short
    runs where the choice of one of the plans is not settled."""
    known = [spec.name for spec in job.targets]
    names = [name for name in known if name in targets]
    asked = [word for name in names for word in ("--target", name)] if names != known else []
    changes = [word for each in job.overrides for word in ("--set", each)]
    words = ["parc", "compile", operand(job.path), "-o", OUTPUT, *asked, *changes]
    doubted = [plan for plan in plans if may_be_tried(plan)]
    trials = [f"  or: {trials_command(plan)}" for plan in doubted]
    return [f"next: {shlex.join(words)}", *trials]


def start_lines(
    written: Iterable[tuple[str, Planned]], output: Path, files: Collection[str]
) -> list[str]:
    """Behind `parc compile`: what starts the best plan of each job, by the subfolder of its files. A script
    that starts all stages stands for those before."""
    lines: list[str] = []
    for folder, planned in written:
        plan = next((each for each in planned.plans if each.target in BACKENDS), None)
        if plan is None:
            lines.append(f"next: {_READ.format(file=argument(output / folder / MANIFEST))}")
            continue
        stages = f"{_kind(plan)}/{plan.target}-stages.sh"
        if folder + stages in files:
            lines[-1:] = [f"next: bash {argument(output / folder / stages)}"]
        else:
            below = [each.removeprefix(folder) for each in files if each.startswith(folder)]
            lines.append(f"next{_start(plan, output / folder, below)}")
    return lines


def _kind(plan: Plan) -> str:
    return plan.job.launch.kind if plan.job.launch else ""


def _start(plan: Plan, folder: Path, files: Collection[str]) -> str:
    own = f"{_kind(plan)}/{plan.target}."
    if launched := next((each for each in files if each.startswith(own)), ""):
        start = LAUNCHERS[_kind(plan)].start
        return f": {start.format(folder=argument(folder), file=launched)}"
    entry = f"bash {argument(folder / BACKENDS[plan.target].entry)}"
    nodes = plan.layout.nodes
    if nodes == 1:
        return f": {entry}"
    last = nodes - 1
    return f", on each node N of 0 to {last}: NNODES={nodes} NODE_RANK=N MASTER_ADDR=NODE0 {entry}"
