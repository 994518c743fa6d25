"""`Plan` -> the script that starts it on hosts."""

import math
from collections.abc import Mapping

from ...compiler.plan import Plan
from ...dsl.diagnostics import JobError
from ..backend import NO_FILES
from ..languages import bash
from ..render import nodes_text, provenance, render
from .problems import problems, settings

#: Seconds between TERM and KILL where no checkpoint is written.
GRACE_SECONDS = 30


def emit(plan: Plan, entry: str, files: Mapping[str, str] = NO_FILES) -> dict[str, str]:
    """The script that starts `entry`, a path below the output folder, once on each host.

    Raises `JobError` for a hostfile that cannot be named.
    """
    if found := problems(plan.job):
        raise JobError(found)
    launch, path = settings(plan.job), f"hosts/{plan.target}.sh"
    values = {
        "path": path,
        "provenance": provenance(plan),
        "entry": entry,
        "run_folder": f"runs/{plan.run.folder}",
        "nodes": plan.layout.nodes,
        "nodes_text": nodes_text(plan.layout.nodes),
        "hostfile": launch.hostfile,
        "restarts": launch.restarts,
        "grace_seconds": grace_seconds(plan),
        "setup": [bash.code(line) for line in launch.setup],
    }
    template = {"ssh": "hosts/start.sh.j2", "mpirun": "hosts/mpirun.sh.j2"}[launch.starter]
    return {path: render(template, values)}


def grace_seconds(plan: Plan) -> int:
    return max(GRACE_SECONDS, math.ceil(plan.signal_seconds))
