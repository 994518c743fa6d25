"""Dice -> the `goal` block of a generated job."""

from collections.abc import Sequence

from tests.acceptance.support.drawn_job import Draw

#: Conditions that send the solver into the corners of a space.
CONDITIONS = {
    "megatron": (
        "require tp >= 2", "require tp in {4, 8}", "require pp >= 2", "require pp >= 4", "require vpp >= 2",
        "require cp >= 2", "require zero == 0", "require zero == 1", "require zero == 2", "require zero == 3",
        "require recompute == full", "forbid recompute == full", "require recompute == selective",
        "require micro_batch >= 2", "require pp in {3, 5, 6, 7}", "require microbatches >= 2 * pp",
        "require recompute_layers >= 1", "require offload == optimizer",
    ),
    "deepspeed": (
        "require pp >= 2", "require pp in {3, 5}", "require cp >= 2", "require zero == 0",
        "require zero == 1", "require zero == 2", "require zero == 3", "require offload != none",
        "require offload == all",
        "require hpz >= 2", "require recompute == full", "require recompute == selective",
        "require micro_batch >= 2",
    ),
    "deepspeed-hf": (
        "require tp >= 2", "require tp in {2, 4}", "require tp in {3, 5, 6}", "require tp >= 8",
        "require zero == 0", "require zero == 1", "require zero == 2", "require zero == 3",
        "require offload != none", "require offload == all", "require hpz >= 2", "require recompute == full",
        "require micro_batch >= 2",
    ),
    "torchtitan": (
        "require tp >= 2", "require pp >= 2", "require vpp >= 2", "require pp >= 4", "require cp >= 2",
        "require dp_replicate >= 2", "require zero == 2", "require zero == 3", "require recompute == full",
        "require recompute == selective", "require micro_batch >= 2", "require pp in {3, 5, 6}",
    ),
}  # fmt: skip
#: Of models that have outputs to discard.
FINE = ("require recompute == fine", "require recompute in {fine, full}")
EXPERT_CONDITIONS = ("require ep >= 2", "require ep >= 4", "require etp >= 2")
OBJECTIVES = (
    "maximize mfu", "maximize mfu", "maximize tokens_per_second", "minimize step_time", "minimize memory",
    "minimize cost; maximize mfu",
)  # fmt: skip


def goal(draw: Draw, kind: str) -> str:
    conditions: Sequence[str] = CONDITIONS.get(
        f"{draw.target}-{draw.version}", CONDITIONS[draw.target]
    )
    if "experts" in kind or kind == "sinks":
        conditions = (*conditions, *EXPERT_CONDITIONS)
    if draw.target == "megatron" and kind not in ("dense", "grouped"):
        conditions = (*conditions, *FINE)
    count = draw.one(0, 1, 1, 1, 2, 2, 3)
    lines = [draw.one(*OBJECTIVES), *draw.dice.sample(conditions, count)]
    if draw.happens(0.5):
        lines.append("require memory <= 92%")
    return "goal {\n" + "".join(f"  {line}\n" for line in lines) + "}\n"
