"""Context parallelism's exchange (`cp_comm`): the ways that Transformer Engine has for a job's attention, and
Megatron-LM's words for them.

Transformer Engine 2.9, pytorch/attention/dot_product_attention/context_parallel.py, says which way carries
what; Megatron-LM accepts them all, and the first attention stops the run.
"""

from collections.abc import Iterator
from math import gcd

from ...compiler.algebra import Column, Mask
from ...compiler.rules.context_heads import inner_ways, possible
from ...compiler.target import Predicate
from ...compiler.traits import Exchange
from ...dsl.arrays import np
from ...dsl.job import Job
from ...reading.facts import LaunchConfig
from ..constraints import Clash, Need
from .options import options_of

ENGINE = "Transformer Engine 2.9 pytorch/attention/dot_product_attention/context_parallel.py"
ALL: tuple[Exchange, ...] = ("p2p", "all_gather", "a2a", "hierarchical")
#: The most ranks of context parallelism that a command is believed to have.
MOST_RANKS = 2**16
#: Words of `--cp-comm-type`, in small letters, and the way that each is.
WORDS = {
    "p2p": "p2p",
    "all_gather": "all_gather",
    "a2a": "a2a",
    "a2a+p2p": "hierarchical",
}
#: What of a job's attention only some ways carry (:3806, :3812, :3825 and :3193): sinks, windows, heads whose
#: keys are wider than their values, packed conversations.
CARRIES: dict[str, tuple[Exchange, ...]] = {
    "attention_sinks": ("a2a",),
    "window": ("all_gather", "a2a"),
    "latent attention": ("p2p", "hierarchical"),
    "sft": ("p2p",),
}


def held(job: Job) -> Iterator[str]:
    """The parts of the job's attention that some ways do not carry."""
    model = job.model
    if model.attention_sinks:
        yield "attention_sinks"
    if model.window is not None:
        yield "window"
    if model.mla:
        yield "latent attention"
    if options_of(job).sft:
        yield "sft"


def ways(job: Job) -> tuple[Exchange, ...]:
    """The ways that carry the job's attention, of those that it names; the first is preferred."""
    said = options_of(job).cp_comm
    named = ALL if said is None else (said,)
    return tuple(way for way in named if all(way in CARRIES[each] for each in held(job)))


def word(way: str) -> str:
    """The word of `--cp-comm-type`."""
    return next(word for word, known in WORDS.items() if known == way)


def problems(job: Job) -> Iterator[str]:
    """Why no layout of the job has the exchange that it names."""
    said = options_of(job).cp_comm
    for each in held(job) if said is not None and not ways(job) else ():
        if said not in CARRIES[each]:
            carry = " or ".join(CARRIES[each])
            yield f"`cp_comm = {said}` does not support {each}, which {carry} does"


def _carried(job: Job) -> str:
    said = options_of(job).cp_comm
    how = "any exchange of keys and values" if said is None else f"cp_comm = {said}"
    return f"{' with '.join(held(job))} cannot be combined with {how}"


def _fits(job: Job, tp: Column, cp: Column) -> "Mask | bool":
    """Whether some way divides the heads; where none carries the attention, another rule says so."""
    found = np.asarray(np.asarray(cp) == 1)
    for way in ways(job) or ("p2p",):
        found = found | possible(job, way, tp, cp)
    return found if found.ndim else bool(found)


def _unfit(job: Job, tp: int, cp: int) -> str:
    model = job.model
    if "a2a" not in ways(job):
        return (
            f"cp {cp} with tp {tp} has no all-to-all inside a ring (hierarchical): it takes a part of cp "
            "that shares a fast domain and divides heads and key-value heads"
        )
    for name, count in (("heads", model.heads), ("kv_heads", model.groups)):
        each = max(count // tp, 1)
        if each % cp:
            return f"{name} {count} / tp {tp} = {each} is not a multiple of cp {cp} (a2a)"
    return f"heads {model.heads} are not a multiple of tp {tp} * cp {cp} (a2a)"


PREDICATES = (
    Predicate(
        "PAR133",
        "window-cp",
        "cp above 1 with attention that its exchange does not support",
        ("cp",),
        lambda job, cp: (cp == 1) | bool(ways(job)),
        lambda job, cp: f"cp {cp}: {_carried(job)}",
        f"{ENGINE}:3806",
        stricter="Transformer Engine refuses it in the first attention",
    ),
    Predicate(
        "PAR315",
        "context-heads",
        "all-to-all context parallelism does not divide the heads",
        ("tp", "cp"),
        _fits,
        _unfit,
        f"{ENGINE}:3189",
        stricter="Transformer Engine refuses it in the first attention",
    ),
)


def sizes(job: Job, tp: int, cp: int) -> tuple[int, int]:
    """Ranks of the all-to-all, and of the ring around it (`--hierarchical-context-parallel-sizes`)."""
    inner = int(inner_ways(job, np.array([tp]), np.array([cp]))[0])
    return inner, cp // inner


def own_sizes(config: LaunchConfig) -> bool:
    """Whether the two sizes of a command are those that a plan of its layout has on nodes of one domain: the
    largest number below cp that divides cp, heads, keys and the domain, and the rest."""
    option = config.option("--hierarchical-context-parallel-sizes")
    numbers = [config.number(name) for name in ("tp", "cp", "heads", "gpus_per_node")]
    tp, cp, heads, domain = (int(number or 0) for number in numbers)
    if option is None or min(tp, cp, heads, domain) < 1 or cp > MOST_RANKS or heads % tp:
        return False
    keys = max(int(config.number("kv_heads") or heads) // tp, 1)
    shared = gcd(cp, heads // tp, keys, domain // tp if domain % tp == 0 else 1)
    inner = next(ways for ways in range(cp - 1, 0, -1) if shared % ways == 0) if cp > 1 else 1
    return inner > 1 and [str(value) for value in option.values] == [str(inner), str(cp // inner)]


_OVER_CP = "--context-parallel-size > 1"
#: What the model's attention needs, and what it excludes.
NEEDS = (
    Need(
        "--window-size",
        ("--cp-comm-type all_gather", "--cp-comm-type a2a"),
        f"{ENGINE}:3806",
        where=_OVER_CP,
    ),
    Need("--softmax-type", ("--cp-comm-type a2a",), f"{ENGINE}:3825", "learnable", where=_OVER_CP),
)
CLASHES = tuple(
    Clash(f"--cp-comm-type {word}", "--multi-latent-attention", f"{ENGINE}:3812", where=_OVER_CP)
    for word in ("all_gather", "a2a")
)
