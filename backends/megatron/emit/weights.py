"""Weights of Hugging Face: the program that turns them into a checkpoint, and the options that load it."""

from collections.abc import Mapping

from ....compiler.plan import Plan
from ....dsl.job import Job
from ...render import provenance, render
from .flags import Flag, flag, variable

CONVERTER = "megatron/convert.py"
#: Where the first checkpoint lies, and where the weights come from.
PRETRAINED, SOURCE = "PRETRAINED_DIR", "HF_WEIGHTS"


def weight_flags(plan: Plan) -> list[Flag]:
    """checkpointing.py:2096 of 0.19.2 loads it, and begins at step 0, while --load holds nothing."""
    if carries_all(plan.job):
        # optimizer_param_scheduler.py, _check_and_set: else a schedule that differs stops the start.
        why = "the schedule of this stage, not the one of the checkpoint"
        return [flag("--override-opt_param-scheduler", why=why)]
    if plan.job.previous is not None:
        return [variable("--pretrained-checkpoint", "PREVIOUS")]
    if plan.job.train.weights is None:
        return []
    return [variable("--pretrained-checkpoint", PRETRAINED)]


def carries_all(job: Job) -> bool:
    """Whether a stage goes on from the one before in all that its checkpoint has."""
    return job.previous is not None and job.train.carry == "all"


def weight_variables(plan: Plan, checkpoints: str) -> Mapping[str, str]:
    """Variables of the script; `checkpoints` is where training saves its own."""
    weights = plan.job.train.weights
    return {} if weights is None else {SOURCE: weights, PRETRAINED: f"{checkpoints}-first"}


def converter(plan: Plan) -> dict[str, str]:
    """The program by its path; none where training begins with weights that are drawn."""
    if plan.job.train.weights is None:
        return {}
    return {CONVERTER: render("megatron/convert.py.j2", {"provenance": provenance(plan)})}
