"""`Plan` -> what an entry script needs to keep its run's folder from other runs: run.json, and its names."""

from typing import Any

from ..compiler.plan import Plan
from .languages import bash, json

#: What says, beside an entry script and in the folder of a run, what decides its training.
FILE = "run.json"


def run_json(plan: Plan) -> str:
    """One setting a line; the digest, which alone is compared, comes last."""
    run = plan.run
    return json.members({"run": run.name, **run.decided, "digest": run.digest})


def run_values(plan: Plan, checkpoints: str | None) -> dict[str, Any]:
    """For templates/run.sh.j2; `checkpoints` is the variable of the folder of checkpoints, None without one."""
    run = plan.run
    return {
        "folder": f"runs/{run.folder}",
        "name": run.name,
        "digest": run.digest,
        "checkpoints": checkpoints and bash.name(checkpoints),
    }
