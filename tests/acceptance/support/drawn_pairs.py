"""Pairs of Megatron-LM's options that nobody chose, in `extra` of layouts that differ in their features."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from parc.backends import BACKENDS, extra
from parc.backends.extra import Value
from parc.backends.megatron.extra import COSTS
from parc.backends.megatron.options import Options
from parc.backends.released_options import ReleasedOption, released_options
from parc.compiler.plan import Layout, Plan
from parc.dsl.diagnostics import JobError
from tests.acceptance.support.generated_jobs import Generated
from tests.support.megatron_plans import DENSE, MOE, plan_of

LAYOUTS = {
    "zero0": (DENSE, Layout(dp_replicate=8, microbatches=16)),
    "zero1": (DENSE, Layout(dp_shard=8, zero=1, microbatches=16)),
    "zero3": (DENSE, Layout(dp_shard=8, zero=3, microbatches=16, recompute=2)),
    "context": (DENSE, Layout(cp=2, dp_shard=4, zero=1, microbatches=16, recompute=2)),
    "stages": (DENSE, Layout(tp=2, pp=2, dp_shard=2, zero=1, microbatches=16, recompute=1)),
    "experts": (MOE, Layout(ep=8, dp_shard=8, zero=1, microbatches=16)),
    "expert_stages": (
        MOE,
        Layout(tp=2, ep=4, pp=2, vpp=2, dp_shard=2, zero=1, microbatches=16, recompute=1),
    ),
}
#: What wants a package, a network, a backend or a real model that the acceptance environment has not.
ELSEWHERE = (
    "--adlr-autoresume*",
    "--enable-msc",
    "--non-persistent-ckpt-type",
    "--moe-single-grouped-*",
    "--overlap-moe-expert-parallel-comm",
    "--perform-rl-step",  # a step of another program, train_rl.py
    "--pipeline-model-parallel-comm-backend",
    "--use-sharp",
)
BACKEND = BACKENDS["megatron"]


@dataclass(frozen=True)
class Pair:
    """A layout by its name, and what its `extra` says."""

    layout: str
    extra: Mapping[str, Value]

    def plan(self) -> Plan:
        model, layout = LAYOUTS[self.layout]
        return plan_of(model, layout, Options(extra=dict(self.extra)))


def pairs(count: int, seed: int, options: list[ReleasedOption]) -> Iterator[Pair]:
    """The first of each changes time or memory, which seldom goes with everything."""
    draws = random.Random(seed)
    costly = [each for each in options if extra.among(each.name, COSTS)]
    while count:
        chosen = [draws.choice(costly), draws.choice(draws.choice([costly, options]))]
        said = {each.name.removeprefix("--"): value(draws, each) for each in chosen}
        if len(said) == 2:
            yield Pair(draws.choice(list(LAYOUTS)), said)
            count -= 1


def settable(release: str = "0.19") -> list[ReleasedOption]:
    """Options whose values can be drawn, and that parc lets pass alone."""
    found = []
    for option in released_options("megatron", release).values():
        drawable = option.kind in ("switch", "int", "float") or option.choices
        draws = random.Random(0)
        if drawable and not option.count and not extra.among(option.name, ELSEWHERE):
            alone = Pair("zero1", {option.name.removeprefix("--"): value(draws, option)})
            if not list(BACKEND.target.settings(alone.plan().job)):
                found.append(option)
    return found


def value(draws: random.Random, option: ReleasedOption) -> Value:
    if option.kind == "switch":
        return True
    if option.choices:
        return draws.choice(option.choices)
    return draws.choice([1, 2, 4, 8] if option.kind == "int" else [0.1, 0.5, 1.0])


def written(pair: Pair, name: str) -> Generated | None:
    """The files of a pair that parc would write."""
    plan = pair.plan()
    if list(BACKEND.target.settings(plan.job)):
        return None
    try:
        files = BACKEND.emit(plan)
    except JobError:
        return None
    return Generated(name, "", plan, files, ())
