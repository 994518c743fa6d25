"""Layouts that one predicate alone forbids, and the files that parc would have emitted for them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np

from parc.backends import BACKENDS
from parc.compiler.plan import Layout, Plan
from parc.compiler.rules.validity import broken, predicates, variables_of
from parc.compiler.target import Columns, Predicate, holds
from parc.compiler.variables import FINE
from parc.dsl.job import Train
from parc.dsl.model import Model
from tests.acceptance.support.forbidden_settings import SEQUENCE, Setting, settings_of
from tests.acceptance.support.generated_jobs import Generated
from tests.support import sample_plans

#: Values of each variable, sensible and not.
VALUES = {
    "tp": (1, 1, 2, 3, 4, 8),
    "pp": (1, 1, 2, 3, 4),
    "vpp": (1, 1, 2),
    "cp": (1, 1, 2, 3, 4),
    "ep": (1, 1, 2, 4, 6, 8),
    "etp": (1, 1, 2, 4),
    "dp_replicate": (1, 1, 2, 3),
    "dp_shard": (1, 2, 3, 4, 8),
    "zero": (0, 1, 2, 3),
    "micro_batch": (1, 2),
    "microbatches": (1, 2, 3, 4, 5, 8),
    "recompute": (0, 1, 2, FINE),
    "recompute_layers": (0, 0, 1, 9),
    "offload": (0, 0, 1, 2),
    "hpz": (1, 1, 2, 3),
    "order": (0, 0, 0, 0, 1, 2),
}
FULL = 2
MOST_GPUS = 64
#: Layouts that are drawn of each setting: a rule that one in a thousand breaks alone is met for every seed.
DRAWN = 100_000
#: Layouts for one predicate: of one setting, and of all.
OF_A_SETTING, OF_A_RULE = 2, 8
#: A batch that every layout divides, for what all are asked at once.
BATCH = math.prod(
    math.lcm(*VALUES[name]) for name in ("dp_replicate", "dp_shard", "micro_batch", "microbatches")
)


@dataclass(frozen=True)
class Forbidden:
    """One layout, the predicate that forbids it, and its files as if it did not."""

    predicate: Predicate
    job: Generated


def forbidden(name: str, seed: int) -> Iterator[Forbidden]:
    """Layouts for every predicate of a target, which may end in a version, of settings in a random order."""
    target = name.partition("-")[0]
    dice = Random(f"{name} {seed}")
    every = list(enumerate(settings_of(name)))
    found: Counter[str] = Counter()
    for place, setting in dice.sample(every, len(every)):
        drawn = _drawn(target, setting, np.random.default_rng(dice.getrandbits(64)))
        for rule, layouts in _alone(target, setting, drawn):
            plans = (_plan(target, setting, layout) for layout in layouts)
            alone = (plan for plan in plans if _grows(plan) and _broken(plan) == [rule])
            for plan in islice(alone, min(OF_A_SETTING, OF_A_RULE - found[rule.code])):
                found[rule.code] += 1
                # The framework is not asked about a rule that is stricter than its own.
                files = {} if rule.stricter else _files(plan)
                job = Generated(f"{rule.code}-{found[rule.code]}-{place}", "", plan, files, ())
                yield Forbidden(rule, job)


def forced(
    target: str,
    name: str,
    model: Model,
    layout: Layout,
    options: Mapping[str, Any] | None = None,
    **train: Any,
) -> Forbidden:
    """One given layout under a target's `options`, whatever forbids it first."""
    plan = _plan(target, Setting(model, train, options or {}), layout)
    return Forbidden(_broken(plan)[0], Generated(name, "", plan, _files(plan), ()))


def _drawn(target: str, setting: Setting, dice: np.random.Generator) -> Columns:
    """Layouts that the target has words for, and that leave every stage a layer."""
    decided = {*BACKENDS[target].target.domains(_of_all(target, setting).job), "microbatches"}
    decided -= set() if setting.model.moe else {"ep", "etp"}
    neutral = Layout().model_dump()
    drawn = {
        name: dice.choice(values if name in decided else (neutral[name],), DRAWN)
        for name, values in VALUES.items()
    }
    drawn["dp"] = drawn["dp_replicate"] * drawn["dp_shard"]
    drawn["gpus"] = drawn["tp"] * drawn["pp"] * drawn["cp"] * drawn["dp"]
    written = (drawn["recompute"] == FULL) | (drawn["recompute_layers"] == 0)
    written &= (drawn["recompute"] != FINE) | (target == "megatron")
    few = (drawn["gpus"] <= MOST_GPUS) & (drawn["pp"] * drawn["vpp"] <= setting.model.layers)
    return {name: values[written & few] for name, values in drawn.items()}


def _alone(
    target: str, setting: Setting, drawn: Columns
) -> Iterator[tuple[Predicate, Iterator[Layout]]]:
    """The target's own predicates, each with those layouts of `drawn` that it alone forbids."""
    job, own = _of_all(target, setting).job, BACKENDS[target].target
    if own.refuses(job):
        raise ValueError(f"{target} refuses every layout: {own.refuses(job)[0].message}")
    breaks = {rule: ~np.asarray(holds(rule, job, drawn)) for rule in predicates(own)}
    number = sum(broken.astype(int) for broken in breaks.values())
    for rule in own.predicates:
        rows = np.flatnonzero(breaks[rule] & (number == 1))
        yield rule, (
            Layout(**{name: int(np.asarray(drawn[name])[row]) for name in VALUES}) for row in rows
        )


def _of_all(target: str, setting: Setting) -> Plan:
    """A plan whose job every drawn layout is one of."""
    return _plan(target, setting, Layout(dp_shard=MOST_GPUS), BATCH)


def _plan(target: str, setting: Setting, layout: Layout, batch: int | None = None) -> Plan:
    train = {"seq_len": SEQUENCE, "steps": 10_000, **setting.train}
    sequences = layout.micro_batch * layout.microbatches * layout.dp
    return sample_plans.sample_plan(
        target,
        BACKENDS[target].target.options(**setting.options),
        model=setting.model,
        layout=layout,
        train=Train(global_batch=batch or sequences, **train),
        gpu=setting.gpu,
        gpus_per_node=1,
    )


def _grows(plan: Plan) -> bool:
    """Whether the job's batch grows as it says: in equal steps."""
    train = plan.job.train
    return train.ramp_from is None or len(train.ramp) > 1


def _broken(plan: Plan) -> list[Predicate]:
    return broken(plan.job, BACKENDS[plan.target].target, variables_of(plan.job, plan.layout))


def _files(plan: Plan) -> dict[str, str]:
    """What would be written if the rules were not asked."""
    emit = BACKENDS[plan.target].emit
    with patch(f"{emit.__module__}.problems", lambda *arguments: []):
        files: dict[str, str] = emit(plan)
    return files
