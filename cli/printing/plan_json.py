"""Plans as JSON: what `plan.json` and `--json` say of them."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import PurePath
from typing import Any

from parc.compiler.plan import Estimate, Plan
from parc.dsl.job import Job

from ..api import Planned

#: Digits kept of a predicted number: more of them would differ between machines.
DIGITS = 6


def lock(planned: Planned, files: dict[str, str]) -> str:
    """The text of `plan.json`: plans, refusals and the sha256 of each file; no times, so it never varies."""
    value = {**planned_json(planned), "files": files}
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def planned_json(planned: Planned) -> dict[str, Any]:
    """A job's plans, the best first."""
    return {
        "parc": version("parc-compiler"),
        "job": job_json(planned.job),
        "best": planned.plans[0].target if planned.plans else None,
        "plans": [plan_json(plan) for plan in planned.plans],
        "refused": [
            {"target": target, "code": complaint.code, "message": complaint.message}
            for target, complaint in planned.complaints
        ],
    }


def job_json(job: Job) -> dict[str, Any]:
    return {
        "name": job.name,
        "file": PurePath(job.path).name,
        "sha256": job.digest,
        "goal": [
            *(f"{goal.direction} {goal.quantity}" for goal in job.goal.objectives),
            *(constraint.text for constraint in job.goal.constraints),
        ],
    }


def plan_json(plan: Plan) -> dict[str, Any]:
    proof = plan.proof.model_dump(exclude={"seconds"})
    return {
        "target": plan.target,
        **estimate_json(plan.estimate),
        "proof": rounded(proof),
        "binding": list(plan.binding),
        "runners_up": [_summary(estimate) for estimate in plan.runners_up],
    }


def estimate_json(estimate: Estimate) -> dict[str, Any]:
    value: dict[str, Any] = rounded(estimate.model_dump())
    value["memory_bytes"] = estimate.memory_bytes
    value["out_of_memory"] = rounded(estimate.out_of_memory)
    value["mfu_band"] = rounded(estimate.mfu_band)
    value["gpus"] = estimate.layout.gpus
    return value


def rounded(value: Any) -> Any:
    """The same value with every float cut to `DIGITS` significant digits."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(item) for item in value]
    return value


def _summary(estimate: Estimate) -> dict[str, Any]:
    value: dict[str, Any] = rounded(
        {
            "layout": estimate.layout.model_dump(exclude_defaults=True),
            "step_seconds": estimate.step_seconds,
            "mfu": estimate.mfu,
            "memory_bytes": estimate.memory_bytes,
            "out_of_memory": estimate.out_of_memory,
        }
    )
    return value
