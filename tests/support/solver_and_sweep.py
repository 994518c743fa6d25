"""Jobs as text for tests of the compiler, and two answers to each: the solver's and the sweep's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TypedDict, Unpack

import parc
from parc.backends import BACKENDS
from parc.compiler.case import Case
from parc.compiler.search.best_first import explored
from parc.compiler.search.bounds import narrowed
from parc.compiler.search.cp_sat_search import Solution, solve
from parc.compiler.search.space import Space
from parc.compiler.search.sweep import Swept, slack, sweep
from parc.compiler.target import Target
from parc.compiler.variables import ORDER, SEARCHED
from parc.dsl import loads
from parc.dsl.job import Job
from tests.support.compiled_examples import EXAMPLES

OPTIONS = {name: backend.target.options for name, backend in BACKENDS.items()}
TARGETS = tuple(BACKENDS)

DENSE = {"layers": 8, "hidden": 1024, "heads": 16, "kv_heads": 8, "ffn": 4096, "vocab": 32000}
MOE = {**DENSE, "experts": 8, "topk": 2, "expert_ffn": 2048}
LATENT = {
    **{name: value for name, value in MOE.items() if name != "kv_heads"},
    "shared_experts": 1,
    "dense_layers": 1,
    "q_lora_rank": 256,
    "kv_lora_rank": 128,
    "qk_nope_head_dim": 64,
    "qk_rope_head_dim": 32,
    "v_head_dim": 64,
    "mtp_layers": 1,
}
CLUSTER = {"nodes": 2, "price": "2.5 $/h"}
TRAIN = {"seq_len": 2048, "global_batch": 16, "steps": 1000}


def block(title: str, settings: Mapping[str, object]) -> str:
    lines = "".join(f"  {name} = {value}\n" for name, value in settings.items())
    return f"{title} {{\n{lines}}}\n"


class Parts(TypedDict, total=False):
    """What `text_of` takes besides the goal."""

    target: str
    model: Mapping[str, object]
    gpu: str
    memory: str
    cluster: Mapping[str, object]
    train: Mapping[str, object]


def text_of(
    goal: str = "",
    *,
    target: str = "megatron",
    model: Mapping[str, object] = DENSE,
    gpu: str = "h100_sxm",
    memory: str = "80 GiB",
    cluster: Mapping[str, object] = CLUSTER,
    train: Mapping[str, object] = TRAIN,
) -> str:
    """A whole job on nodes of eight GPUs with so much memory; `goal` holds one clause per line."""
    return (
        block("model small", model)
        + block(f"gpu card from std.{gpu}", {"memory": memory})
        + block("cluster pod from std.dgx_h100", {"gpu": "card", **cluster})
        + block("train", train)
        + f"goal {{\n{goal}\n}}\ntarget {target} {{}}\n"
    )


def job_of(goal: str = "", **parts: Unpack[Parts]) -> Job:
    return read(text_of(goal, **parts))


def read(text: str) -> Job:
    return loads(text, "job.par", targets=OPTIONS)


def target_of(job: Job) -> Target:
    (spec,) = job.targets
    return BACKENDS[spec.name].target


@dataclass(frozen=True)
class Answers:
    """The solver's layout and the sweep's prices of all layouts of one space."""

    case: Case
    space: Space
    solution: Solution | None
    swept: Swept

    @property
    def layout(self) -> dict[str, int]:
        """What the solver decided."""
        assert self.solution is not None
        return {name: self.solution.layout[name] for name in ORDER}

    @property
    def placed(self) -> dict[str, int]:
        """The same with the placement that the solver took."""
        assert self.solution is not None
        return {name: self.solution.layout[name] for name in SEARCHED}

    @property
    def best(self) -> dict[str, int] | None:
        """What the sweep ranks first; None when it finds no layout."""
        if not self.space.rows or not self.swept.feasible.any():
            return None
        row = self.swept.layout(int(self.swept.order[0]))
        return {name: row[name] for name in ORDER}


def answers(job: Job, target: Target | None = None) -> Answers:
    """Solve and sweep, by the functions that `parc.compiler.plan` calls."""
    case = Case(job, target or target_of(job))
    space = Space(case)
    return Answers(case, space, solve(space), sweep(space))


@cache
def example(name: str) -> Job:
    return parc.load(EXAMPLES[name])


#: Most layouts and placements of an example that are answered whole.
WHOLE = 2**15
#: Of larger ones layouts are answered whose first objective is up to the 20th part worse than the best.
MARGIN = 20


@cache
def answered(name: str, target: str) -> Answers:
    """The answers to one example; of a space of more than WHOLE rows, to the part of it that bounds leave:
    all blocks that may hold a layout better than the search's, or worse by no more than MARGIN says.
    """
    case = Case(example(name), BACKENDS[target].target)
    space = Space(case)
    if space.has_at_most(WHOLE):
        return Answers(case, space, solve(space), sweep(space))
    known = explored(space).incumbent
    assert known is not None
    assert slack(case, known.score) <= known.score // MARGIN
    left = narrowed(space, known.score + known.score // MARGIN)
    return Answers(case, left, solve(left), sweep(left))


#: The examples of at most 1,024 GPUs, with each of their targets.
SMALL = tuple(
    (name, spec.name)
    for name in EXAMPLES
    for spec in example(name).targets
    if max(example(name).cluster.nodes) * example(name).cluster.gpus_per_node <= 1024
)
