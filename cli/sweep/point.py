"""A job -> what is kept of one point: the numbers of each target's plan, and why others have none."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from parc.compiler.plan import Layout
from parc.dsl.diagnostics import Diagnostic

from .. import codes
from ..printing.plan_json import JsonObject, changed, rounded

if TYPE_CHECKING:
    from parc.compiler.plan import Plan
    from parc.dsl.job import Job

#: Quantities of an estimate that are kept.
_QUANTITIES = {
    "days", "cost", "energy_joules", "mfu", "tflops_per_gpu", "step_seconds", "tokens_per_second",
}  # fmt: skip
_DERIVED = {"gpus", "nodes", "memory_bytes", "out_of_memory", "tokens_per_second_per_gpu"}
_NUMBERS = {*_QUANTITIES, *_DERIVED, "peak_flops"}
_NAMES = ("target", "proof", "gpu", "precision")


def solved(job: Job, targets: Sequence[str]) -> JsonObject:
    """The plans of a job, the best first, and the targets without one; a fault of parc is such a reason.

    `days` are of the whole training, energy in joules, memory in bytes of the fullest GPU; `peak_flops` is
    the FLOP/s of one GPU that `mfu` is a share of; `seconds` is how long solving took.
    """
    from ..api import plan_targets

    began = time.monotonic()
    try:
        planned = plan_targets(job, targets)
    except Exception as error:
        from ..fault import told

        return refused([told(error, ("sweep", job.path))], targets)
    reasons = [
        reason
        for name in targets
        for reason in _reason([found for of, found in planned.complaints if of == name], name)
    ]
    seconds = round(time.monotonic() - began, 3)
    plans = [_numbers(plan) for plan in planned.plans]
    return {"plans": plans, "refused": reasons, "seconds": seconds}


def is_row(row: JsonObject) -> bool:
    """Whether a row that was read back is one that `solved` gives: an edited file may hold others.

    Raises `KeyError`, `TypeError` or `AttributeError` where it has not even the shape of a row.
    """
    found: Any = row
    reasons = [each[key] for each in found["refused"] for key in ("target", "code", "message")]
    names = [each[key] for each in found["plans"] for key in _NAMES]
    numbers = [each[key] for each in found["plans"] for key in _NUMBERS]
    layouts = [each["layout"] for each in found["plans"]]
    return (
        bool(found["plans"] or found["refused"])
        and all(isinstance(each, str) for each in reasons + names)
        and all(isinstance(each, int | float) and isfinite(each) for each in numbers)
        and all(each.keys() <= Layout.model_fields.keys() for each in layouts)
    )


def refused(complaints: Sequence[Diagnostic], targets: Iterable[str]) -> JsonObject:
    """A point without a plan on any target, for the same reason."""
    reasons = [reason for target in targets for reason in _reason(complaints, target)]
    return {"plans": [], "refused": reasons, "seconds": 0.0}


def killed(targets: Iterable[str], attempts: int) -> JsonObject:
    """A point whose process was ended from outside at each attempt."""
    message = f"the process that solved it was killed {attempts} times: the machine may lack memory"
    return refused([Diagnostic(codes.POINT_KILLED, message)], targets)


def failed(targets: Iterable[str], attempts: int, error: OSError) -> JsonObject:
    """A point whose worker on another machine failed at each attempt, without parc's doing."""
    message = f"the worker that solved it failed {attempts} times: {error.strerror or type(error).__name__}"
    return refused([Diagnostic(codes.POINT_KILLED, message)], targets)


def _reason(complaints: Sequence[Diagnostic], target: str) -> list[JsonObject]:
    """All complaints as one reason; none without."""
    if not complaints:
        return []
    message = "; ".join(dict.fromkeys(each.message for each in complaints))
    return [{"target": target, "code": complaints[0].code, "message": message}]


def _numbers(plan: Plan) -> JsonObject:
    estimate = plan.estimate
    return rounded(
        {
            "target": plan.target,
            "gpu": plan.job.cluster.gpu.name,
            "precision": plan.job.train.precision,
            "peak_flops": plan.job.peak_flops,
            **estimate.model_dump(include=_QUANTITIES),
            **{name: getattr(estimate, name) for name in sorted(_DERIVED)},
            "proof": plan.proof.status,
            "layout": changed(plan.layout),
            **({"settings": plan.settings} if plan.settings else {}),
        }
    )
