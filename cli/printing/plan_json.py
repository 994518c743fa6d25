"""Plans -> JSON, for `plan.json` and `--json`."""

import json
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import PurePath

from parc.compiler.plan import Doubt, Estimate, Layout, Measured, Plan
from parc.dsl.diagnostics import Diagnostic
from parc.dsl.job import Job

from ..api import Planned, cautions
from .advice_text import advice, local_command
from .words.numbers import significant

JsonObject = dict[str, object]


def lock(planned: Planned, files: dict[str, str]) -> str:
    """The text of `plan.json`: plans, refusals and the sha256 of each file; no times, so it never varies."""
    value = {**planned_json(planned), "files": files}
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def planned_json(planned: Planned) -> JsonObject:
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


def job_json(job: Job) -> JsonObject:
    return {
        "name": job.name,
        "file": PurePath(job.path).name,
        "sha256": job.digest,
        "peak": peak_json(job),
        "goal": [
            *(f"{goal.direction} {goal.quantity}" for goal in job.goal.objectives),
            *(constraint.text for constraint in job.goal.constraints),
        ],
    }


def peak_json(job: Job) -> JsonObject:
    """The peak that an MFU of the job is a share of: FLOP/s of one GPU in the job's precision."""
    return {"precision": job.train.precision, "flops": job.peak_flops}


def plan_json(plan: Plan) -> JsonObject:
    partly = set() if plan.proof.ruled_out else {"ruled_out"}
    proof = plan.proof.model_dump(exclude={"seconds", *partly})
    return {
        "target": plan.target,
        **estimate_json(plan.estimate),
        "proof": rounded(proof),
        "best": plan.best and _summary(plan.best),
        **({"freed_bytes": plan.freed_bytes} if plan.freed_bytes else {}),
        "doubt": plan.doubt and _doubt(plan.doubt),
        **_advice(plan),
        "measured": plan.measured and rounded(plan.measured.model_dump()),
        **_simulated(plan),
        "binding": list(plan.binding),
        "runners_up": [_summary(estimate) for estimate in plan.runners_up],
        "warnings": warnings_json(cautions(plan.job, plan.target)),
        **_settings(plan),
        **_worthwhile(plan),
        **_fewer(plan),
        **_follows(plan),
        **_checkpoints(plan),
    }


def _advice(plan: Plan) -> JsonObject:
    """Where the choice is not settled, what to do about it, with a command for the job's folder; else
    nothing."""
    said = advice(plan)
    return {"advice": {"text": said, "command": local_command(plan)}} if said else {}


def _simulated(plan: Plan) -> JsonObject:
    """The simulated time of a step, and the layout that lost by it; nothing without a simulation."""
    if (found := plan.simulated) is None:
        return {}
    lost = {}
    if found.instead is not None:
        lost = {"instead": changed(found.instead), "instead_seconds": found.instead_seconds}
    return {"simulated": rounded({"step_seconds": found.step_seconds, **lost})}


def _settings(plan: Plan) -> JsonObject:
    """The chosen values of the settings that the job leaves open, and every other choice; else nothing."""
    if not plan.settings:
        return {}
    others = [
        {
            "settings": each.settings,
            **(_summary(each.estimate) if each.estimate else {"why": each.why}),
        }
        for each in plan.other_settings
    ]
    return {"settings": dict(plan.settings), "other_settings": others}


def _worthwhile(plan: Plan) -> JsonObject:
    """Settings that would make the layout much faster; nothing where there are none."""
    found = [
        {
            "setting": ".".join(each.path),
            "value": each.value,
            "gain": significant(each.gain),
            "needs": each.needs,
        }
        for each in plan.worthwhile
    ]
    return {"worthwhile": found} if found else {}


def _fewer(plan: Plan) -> JsonObject:
    """The plan's step on fewer nodes, and with which layout; nothing where only all do."""
    if (found := plan.fewer) is None:
        return {}
    said = {"nodes": found.estimate.nodes, "gpus": found.estimate.gpus}
    domain = {"nvlink_domain": found.nvlink_domain} if found.nvlink_domain else {}
    return {"fewer": {**said, **domain, **_summary(found.estimate)}}


def _follows(plan: Plan) -> JsonObject:
    """The conditions that a stage's layout was chosen under, and the best layout without; else nothing."""
    if (found := plan.follows) is None:
        return {}
    conditions = list(found.conditions)
    return {"follows": {"stage": found.stage, "require": conditions, "best": _summary(found.best)}}


def _checkpoints(plan: Plan) -> JsonObject:
    """When checkpoints are written, and how many stay; nothing where the target writes none."""
    if not plan.job.saves(plan.target):
        return {}
    found = plan.checkpoints
    said = {
        "interval_steps": found.interval_steps,
        "interval_seconds": found.interval_seconds,
        "written": found.written,
        "kept": found.kept,
        "signal_seconds": found.signal_seconds,
        "starts": found.starts,
    }
    return {"checkpoints": rounded(said)}


def warnings_json(warnings: Iterable[Diagnostic]) -> list[JsonObject]:
    """Without positions: those name the job's folder, which `plan.json` leaves out."""
    return [{"code": each.code, "message": each.message, "help": each.help} for each in warnings]


def estimate_json(estimate: Estimate) -> JsonObject:
    unsaid = {"goodput"} if estimate.goodput is None else set()
    return rounded(
        {
            **estimate.model_dump(exclude=unsaid),
            "layout": estimate.layout.in_words,
            "memory_bytes": estimate.memory_bytes,
            "out_of_memory": estimate.out_of_memory,
            "mfu_band": estimate.mfu_band,
            "tokens_per_second_per_gpu": estimate.tokens_per_second_per_gpu,
            "gpus": estimate.layout.gpus,
        }
    )


def measured_json(measured: Measured | None) -> JsonObject:
    """The outcome that runs on the cluster tell of one layout, as a plan has it of its own: `{"measured":
    ...}`, which is null where none of the target ran there."""
    return {"measured": measured and rounded(measured.model_dump(exclude={"best"}))}


def rounded(values: Mapping[str, object]) -> JsonObject:
    """Values with every float in them rounded as `significant` does."""
    return {key: _rounded(value) for key, value in values.items()}


def _rounded(value: object) -> object:
    if isinstance(value, float):
        return significant(value)
    if isinstance(value, dict):
        return rounded(value)
    if isinstance(value, (list, tuple)):
        return [each if type(each) in _EXACT else _rounded(each) for each in value]
    return value


#: Types whose values have no digits to leave out; figures have long lists of them.
_EXACT = frozenset((int, str, bool, type(None)))


def _doubt(doubt: Doubt) -> JsonObject:
    rivals = [{**each.model_dump(), "layout": changed(each.layout)} for each in doubt.rivals]
    return rounded({**doubt.model_dump(), "rivals": rivals})


def changed(layout: Layout) -> dict[str, str | int]:
    """The layout in words, without what has its default."""
    changed = layout.model_dump(exclude_defaults=True)
    return {name: word for name, word in layout.in_words.items() if name in changed}


def _summary(estimate: Estimate) -> JsonObject:
    return rounded(
        {
            "layout": changed(estimate.layout),
            "step_seconds": estimate.step_seconds,
            "mfu": estimate.mfu,
            "memory_bytes": estimate.memory_bytes,
            "out_of_memory": estimate.out_of_memory,
        }
    )
