"""Plans of one shape in numbered folders -> the batch script that runs one after another as an array."""

from collections.abc import Sequence

from ...compiler.plan import Plan
from ..languages.sbatch import directive
from ..render import provenance, render
from .options import options

PATH = "trials.sbatch"


def array(plans: Sequence[Plan], folder: str, log: str) -> dict[str, str]:
    """The script of an array whose task n runs the batch script in `folder`n and writes `log` there. One
    task runs at a time: others on the same network would change what is measured."""
    first = plans[0]
    wanted = options(first) | {
        "job-name": f"{options(first)['job-name']}-trials",
        "output": "%x-%A_%a.out",
        "array": f"1-{len(plans)}%1",
    }
    values = {
        "path": PATH,
        "provenance": provenance(first),
        "title": f"{len(plans)} short runs, one after another.",
        "options": [directive(name, value) for name, value in wanted.items()],
        "folder": folder,
        "script": f"slurm/{first.target}.sbatch",
        "log": log,
    }
    return {PATH: render("slurm/trials.sbatch.j2", values)}
