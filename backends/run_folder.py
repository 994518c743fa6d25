"""`Plan` -> run.json, which keeps its folder from other runs, and what an entry script needs of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..compiler.plan import Plan
from ..compiler.run import run_of
from ..dsl.inputs.documents import json_value
from ..dsl.job import Job
from ..reading.facts import LaunchConfig, Setting, Unknown, text_of
from .languages import bash, json
from .log import announcement

#: What says, beside an entry script and in the folder of a run, what decides its training.
FILE = "run.json"


def run_json(plan: Plan) -> str:
    """One setting a line; the digest, which alone is compared, comes last."""
    run = plan.run
    return json.members({"run": run.name, **run.decided, "digest": run.digest})


def run_in(files: Mapping[str, str], target: str) -> dict[str, Any]:
    """`run`, `digest` and the settings of the run.json among a target's files; empty without a sound one."""
    return settings_in(files.get(f"{target}/{FILE}", ""))


def settings_in(text: str) -> dict[str, Any]:
    """The members of a run.json; empty where it is none."""
    try:
        found = json_value(text)
    except ValueError:
        return {}
    return dict(found) if isinstance(found, dict) else {}


@dataclass(frozen=True)
class Checkpoints:
    """A framework's checkpoints as bash sees them.

    `folder(job)` is where a job's are, in which `$RUN_DIR` is its run's. `begun` is a command that ends well
    where a run has one of its own, `ended` one where `$PREVIOUS`, such a folder, has that of step {steps}.
    """

    folder: Callable[[Job], str]
    begun: str
    ended: str


def run_values(plan: Plan, variable: str | None, kept: Checkpoints) -> dict[str, Any]:
    """Values of templates/run.sh.j2; `variable` names the folder of checkpoints, None where none are kept."""
    run = plan.run
    return {
        "folder": f"runs/{run.folder}",
        "name": run.name,
        "digest": run.digest,
        "announced": announcement(run),
        "checkpoints": variable and bash.name(variable),
        "previous": plan.job.previous and _previous(plan.job.previous, plan.target, kept),
        "begun": bash.code(kept.begun if variable else "false"),
    }


def _previous(stage: Job, target: str, kept: Checkpoints) -> dict[str, Any]:
    steps, own = stage.train.total_steps, f"$RUN_DIR/../{run_of(stage, target).folder}"
    folder = kept.folder(stage).replace("$RUN_DIR", own)
    return {
        "stage": stage.stage,
        "steps": steps,
        "ended": bash.code(kept.ended.format(steps=steps)),
        "line": bash.replaceable("PREVIOUS", folder),
    }


def mounted_runs(given: str | None, mounted: Sequence[str]) -> str | None:
    """Where the folders of runs are on what outlives a machine: as `given`, else at the first of the paths
    that are `mounted`; None where nothing is."""
    top = given or (mounted[0] if mounted else None)
    return top and top.rstrip("/")


def below(folder: str | None, config: LaunchConfig) -> str | None:
    """A folder of a script, spelled by the run's folder where it is below that."""
    run = text_of(config.setting("environment", "RUN_DIR"))
    if folder is None or not run:
        return folder
    return f"$RUN_DIR{folder[len(run):]}" if f"{folder}/".startswith(f"{run}/") else folder


def is_of_the_run(setting: Setting) -> bool:
    """Whether a value is not known because the folder of the run, which parc names, is part of it."""
    return any(isinstance(each, Unknown) and "RUN_DIR" in each.reason for each in setting.values)
