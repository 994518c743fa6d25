"""`Plan` -> the text of its batch script, and the facts that the text states."""

import math
from collections.abc import Iterator, Mapping

from ...compiler.plan import Plan
from ...dsl.diagnostics import JobError
from ...dsl.job import Launch
from ...reading.facts import Value
from .. import BACKENDS
from ..backend import NO_FILES
from ..languages import bash
from ..languages.bash import Bash
from ..languages.sbatch import directive
from ..render import provenance, render
from .endings import endings
from .options import Options, options, problems, time_text
from .read import from_options

JUDGE = "slurm/judge.sh"


def emit(plan: Plan, entry: str, files: Mapping[str, str] = NO_FILES) -> dict[str, str]:
    """The batch script that starts `entry`, a path below the output folder, once on every node.

    Raises `JobError` for settings that sbatch would refuse or that contradict the layout.
    """
    if found := problems(plan):
        raise JobError(found)
    launch, wanted = plan.job.slurm, options(plan)
    path = f"slurm/{plan.target}.sbatch"
    values = {
        "path": path,
        "provenance": provenance(plan),
        "layout": _layout_line(plan),
        "remarks": list(_remarks(plan, launch)),
        "options": [directive(name, value) for name, value in wanted.items()],
        "prepare": [
            *(_module(names) for names in launch.modules),
            *map(bash.code, launch.setup),
        ],
        "nodes": plan.layout.nodes,
        "nodes_text": _nodes_text(plan),
        "gpus_per_node": plan.job.cluster.gpus_per_node,
        "asks_gpus": "gpus-per-node" in wanted or "gres" in wanted,
        "requeue": launch.requeue,
        "signal": "signal" in wanted,
        "signal_seconds": math.ceil(plan.signal_seconds),
        "entry": entry,
        "judge": JUDGE,
        "last_step": (
            BACKENDS[plan.target].last_step(plan) if plan.job.saves(plan.target) else "true"
        ),
        "run_folder": f"runs/{plan.run.folder}",
        "step_options": list(_step_options(launch, wanted)),
    }
    judge = {"provenance": provenance(plan), "endings": endings()}
    return {
        path: render("slurm/job.sbatch.j2", values),
        JUDGE: render("slurm/judge.sh.j2", judge),
        **_all_stages(plan),
    }


def _all_stages(plan: Plan) -> dict[str, str]:
    """The script that submits a stage and those whose weights it begins with, one after another."""
    names, stage = [plan.job.stage], plan.job.previous
    while stage is not None:
        names, stage = [stage.stage, *names], stage.previous
    if len(names) == 1:
        return {}
    values = {
        "provenance": provenance(plan),
        "target": plan.target,
        "stages": bash.command(*map(bash.word, names)),
    }
    return {f"slurm/{plan.target}-stages.sh": render("slurm/stages.sh.j2", values)}


def facts(plan: Plan) -> dict[str, Value]:
    """Facts that `read(emit(plan, entry))` gives back."""
    launch = plan.job.slurm
    return {**from_options(options(plan)), "max_failures": launch.requeue}


def _module(names: str) -> Bash:
    return bash.command(*map(bash.word, ("module", "load", *names.split())))


def _step_options(launch: Launch, wanted: Options) -> Iterator[tuple[str, str]]:
    """srun options and their values, in which `$NAME` stays a variable.

    Since SLURM 22.05 a step does not inherit --cpus-per-task. A job that has its nodes alone asks for none,
    and its step for all that SLURM gave of them.
    """
    given = "PER_TASK" if "cpus-per-task" in wanted else "ON_NODE"
    yield "cpus-per-task", f"$SLURM_CPUS_{given}"
    if launch.container:
        mounts = f",{launch.mounts}" if launch.mounts else ""
        yield "container-image", launch.container
        own = ",".join(f"${name}:${name}" for name in ("PARC_OUT", "RUN_DIR", "SLURM_SUBMIT_DIR"))
        yield "container-mounts", f"{own}{mounts}"
        # pyxis begins in the image's own folder, where relative paths of the job mean something else.
        yield "container-workdir", "$SLURM_SUBMIT_DIR"


def _remarks(plan: Plan, launch: Launch) -> Iterator[str]:
    """Starts that the wall time makes of the training. They use up no `requeue`, which counts failures."""
    if launch.time is None or plan.start_seconds is None or plan.start_seconds <= 0:
        return
    days = plan.estimate.days
    starts = math.ceil(days * 86_400 / plan.start_seconds)
    if starts > 1:
        allowed = "" if launch.requeue else ", and `requeue = 0` allows one"
        yield (
            f"Training takes about {days:,.1f} days: about {starts:,} starts of "
            f"{time_text(launch.time)}{allowed}."
        )


def _layout_line(plan: Plan) -> str:
    layout = plan.layout
    degrees = {"tp": layout.tp, "pp": layout.pp, "cp": layout.cp, "dp": layout.dp}
    product = " x ".join(f"{name} {degree}" for name, degree in degrees.items() if degree > 1)
    return f"{plan.target}: {product or 'dp 1'} = {layout.gpus:,} GPUs in {_nodes_text(plan)}."


def _nodes_text(plan: Plan) -> str:
    nodes = plan.layout.nodes
    return "1 node" if nodes == 1 else f"{nodes:,} nodes"
