"""A seed -> jobs of every size as text: odd batches and depths, nodes of 1 to 12 GPUs, racks, experts."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from parc.dsl import JobError
from parc.dsl.job import Job
from tests.support.solver_and_sweep import TARGETS, block, read, target_of

#: Batches: odd, 3 * 2^n, products of primes, powers of two.
BATCHES = (7, 9, 15, 45, 63, 105, 12, 24, 48, 96, 192, 288, 384, 30, 42, 210, 330, 8, 64, 256, 512)
#: Depths, half of them prime.
LAYERS = (5, 7, 13, 23, 31, 47, 61, 8, 12, 18, 24, 32, 48, 80)
#: Heads, and the kv_heads that a model with them may have.
HEADS = {
    8: (1, 2, 8),
    12: (4, 12),
    16: (2, 8, 16),
    24: (3, 8, 24),
    32: (8, 32),
    40: (8, 10),
    64: (8,),
}
SEQUENCES = (1024, 2048, 3072, 4096, 8192, 16384, 32768)
GPUS = {"h100_sxm": 80, "h200": 141, "a100_40": 40, "a100_80": 80}
RACKS = ("gb200_nvl72", "gb300_nvl72")
NODES = (1, 2, 3, 4, 5, 6, 8, 9, 12, 16, 18, 24, 32)
OBJECTIVES = (
    ("maximize mfu",),
    ("maximize mfu",),
    ("minimize step_time",),
    ("minimize cost",),
    ("minimize memory",),
    ("minimize days",),
    ("maximize tokens_per_second",),
    ("minimize energy",),
    (),
)
CONDITIONS = (
    "require memory <= 80%",
    "require memory <= 92%",
    "require risk <= 1%",
    "require tp <= 4",
    "require pp <= 4",
    "require cp == 1",
    "require microbatches >= 2 * pp",
    "require micro_batch <= 2",
    "require tp * cp >= 2",
    "require bubble <= 10%",
    "forbid recompute == full",
    "forbid zero == 3",
    "forbid vpp > 2",
    "prefer tp == 2",
    "prefer recompute == none",
)
Settings = Mapping[str, object]


@dataclass(frozen=True)
class DrawnJob:
    """The parts of a job, which tests replace one by one."""

    model: Settings
    cluster: Settings
    train: Settings
    clauses: tuple[str, ...]
    target: str
    base: str
    gpu: str
    card: Settings

    @property
    def text(self) -> str:
        goal = "".join(f"  {clause}\n" for clause in self.clauses)
        tied = self.target == "torchtitan" and "tied" in self.model
        options = 'version = "0.3"' if tied else ""
        return (
            block("model drawn", self.model)
            + block(f"gpu card from std.{self.gpu}", self.card)
            + block(f"cluster pod from std.{self.base}", {"gpu": "card", **self.cluster})
            + block("train", self.train)
            + f"goal {{\n{goal}}}\ntarget {self.target} {{ {options} }}\n"
        )

    def job(self) -> Job:
        return read(self.text)

    def saying(self, *clauses: str) -> DrawnJob:
        """The job with more clauses in its goal."""
        return replace(self, clauses=(*self.clauses, *clauses))

    def exact(self) -> DrawnJob:
        """The job with nothing that lets a plan be other than the best prediction."""
        kept = [each for each in self.clauses if not each.startswith(("within", "prefer"))]
        return replace(self, clauses=(*kept, "within = 0%"))


def drawn_jobs(seed: int, small: bool = False) -> Iterator[DrawnJob]:
    """Jobs without end, the same for a seed; `small` ones have few layouts."""
    source = random.Random(seed)
    while True:
        yield drawn_job(source, small)


def drawn_job(source: random.Random, small: bool = False) -> DrawnJob:
    target = source.choice(TARGETS)
    base, gpu, cluster = _cluster(source, small)
    train: dict[str, object] = {
        "seq_len": source.choice(SEQUENCES[:3] if small else SEQUENCES),
        "global_batch": source.choice((6, 9, 12, 15, 16) if small else BATCHES),
        "steps": 1000,
    }
    model = _model(source, target, small)
    plain = target == "deepspeed" or (target == "torchtitan" and "tied" in model)
    if not plain and not gpu.startswith("a100") and source.random() < 0.3:
        train |= {"precision": "fp8"}
    memory = GPUS.get(gpu, 186)
    card = {
        "memory": f"{source.choice((memory, memory // 2, memory // 8 if small else memory))} GiB"
    }
    return DrawnJob(model, cluster, train, _clauses(source, cluster), target, base, gpu, card)


def _model(source: random.Random, target: str, small: bool) -> dict[str, object]:
    heads = source.choice((4, 6, 8) if small else tuple(HEADS))
    hidden = heads * source.choice((64, 128))
    model: dict[str, object] = {
        "layers": source.choice((3, 4, 5, 7) if small else LAYERS),
        "hidden": hidden,
        "heads": heads,
        "kv_heads": heads if small else source.choice(HEADS[heads]),
        "ffn": source.choice((2 * hidden, 4 * hidden, 3 * hidden + 512)),
        "vocab": source.choice((32000, 50257, 128256, 262144)),
    }
    if source.random() < 0.2:
        model |= {"tied": "true"}
    if target != "deepspeed" and source.random() < 0.4:
        model |= _experts(source, hidden, small)
        if target == "megatron" and source.random() < 0.5:
            model |= {"dense_layers": source.choice((1, 2, 3)), "shared_experts": 1}
    return model


def _experts(source: random.Random, hidden: int, small: bool) -> dict[str, object]:
    count = source.choice((4, 6) if small else (8, 12, 16, 60, 64, 128))
    return {
        "experts": count,
        "topk": source.choice((2, 4)),
        "expert_ffn": source.choice((hidden // 2, hidden, 2 * hidden)),
    }


def _cluster(source: random.Random, small: bool) -> tuple[str, str, dict[str, object]]:
    """The cluster of std, its GPU, and what is drawn of it."""
    gpu = source.choice(tuple(GPUS))
    rack = not small and source.random() < 0.2
    per_node = source.choice((2, 4, 6)) if small else source.choice((1, 2, 4, 6, 8, 8, 12))
    base = source.choice(RACKS) if rack else "dgx_h100"
    cluster: dict[str, object] = {
        "nodes": 1 if small else source.choice(NODES),
        "gpus_per_node": source.choice((4, 8)) if rack else per_node,
        "price": "2 $/h",
    }
    if not rack and not small and source.random() < 0.3:
        cluster |= {"network": source.choice(("1 GB/s", "25 GB/s", "200 GB/s"))}
    return base, base.partition("_")[0] if rack else gpu, cluster


def _clauses(source: random.Random, cluster: dict[str, object]) -> tuple[str, ...]:
    """A goal; one that chooses the size gets a range of nodes in the cluster."""
    clauses = list(source.choice(OBJECTIVES))
    nodes = cluster["nodes"]
    if source.random() < 0.15 and isinstance(nodes, int) and nodes > 1:
        cluster["nodes"] = f"{max(1, nodes - 3)}..{nodes}"
        clauses = [source.choice(("minimize gpus", "minimize cost", "maximize mfu"))]
    clauses += source.sample(CONDITIONS, source.choice((0, 0, 1, 1, 2)))
    within = source.choice(("", "within = 0%", "within = 0%", "within = 5%"))
    return tuple(clauses + [within] if within else clauses)


def readable_job(seed: int, small: bool = False) -> DrawnJob:
    """The first job of a seed that the language takes and its target can train."""
    for drawn in drawn_jobs(seed, small):
        try:
            job = drawn.job()
        except JobError:
            continue
        if all(each.severity != "error" for each in target_of(job).refuses(job)):
            return drawn
    raise AssertionError("jobs have no end")
