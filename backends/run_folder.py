"""`Plan` -> what an entry script needs to keep its run's folder from other runs: run.json, and its names."""

from typing import Any

from ..compiler.plan import Plan
from ..reading.facts import LaunchConfig, text_of
from .languages import bash, json

#: What says, beside an entry script and in the folder of a run, what decides its training.
FILE = "run.json"


def run_json(plan: Plan) -> str:
    """One setting a line; the digest, which alone is compared, comes last."""
    run = plan.run
    return json.members({"run": run.name, **run.decided, "digest": run.digest})


def run_values(plan: Plan, checkpoints: str | None) -> dict[str, Any]:
    """Values of templates/run.sh.j2; `checkpoints` is the variable of their folder, None without any."""
    run = plan.run
    return {
        "folder": f"runs/{run.folder}",
        "name": run.name,
        "digest": run.digest,
        "checkpoints": checkpoints and bash.name(checkpoints),
    }


def below(folder: str | None, config: LaunchConfig) -> str | None:
    """A folder of a script, spelled by the run's folder where it is below that."""
    run = text_of(config.setting("environment", "RUN_DIR"))
    if folder is None or not run:
        return folder
    return f"$RUN_DIR{folder[len(run):]}" if f"{folder}/".startswith(f"{run}/") else folder
