"""Which prices a change moves: every term of fixed layouts and kernels, held against the accepted ones.

    python benchmarks/prices.py                    the prices that moved by more than 1 %; exits 1 if any did
    python benchmarks/prices.py --because TEXT     accepts them, and writes down why they moved
    python benchmarks/prices.py --release          takes what is accepted as released, and forgets why

data/prices.csv has one line a price: of the last release, as accepted since, and why the two differ. A test
holds that the code gives the accepted prices, so a move that nobody meant is seen before it lands.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

import numpy as np

import parc

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that it runs by its path
from docs.tables import markdown
from parc.backends import BACKENDS
from parc.compiler.algebra import Column
from parc.compiler.case import Case
from parc.compiler.plan import Estimate
from parc.compiler.time import collectives, kernels, layers
from parc.dsl.job import Job

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "benchmarks" / "data" / "prices.csv"
#: A price that differs by less has not moved.
TOLERANCE = 0.01

B200 = ("cluster.gpu=std.b200", "train.precision=mxfp8")
B300 = ("cluster.gpu=std.b300", "train.precision=nvfp4")
#: Example, overrides, target, layout. Between them they have every degree, all ZeRO stages, both kinds of
#: recomputation, offload, experts, rings and all-to-alls of context, and three generations of GPUs.
LAYOUTS: Sequence[tuple[str, Sequence[str], str, str]] = (
    ("gpt_125m", (), "megatron", "dp_shard=2 zero=1 micro_batch=32"),
    ("gpt_125m", (), "deepspeed", "dp_shard=2 zero=2 micro_batch=32"),
    ("llama2_7b_pcie", (), "megatron", "pp=8"),
    ("llama2_7b_pcie", (), "torchtitan", "pp=4 vpp=2 dp_shard=2 zero=1 recompute=1"),
    ("llama2_7b_pcie", (), "deepspeed", "pp=4 dp_shard=2 zero=1 offload=1"),
    ("llama3_8b", (), "megatron", "dp_shard=8 zero=3"),
    ("llama3_8b", (), "megatron", "tp=2 dp_shard=4 zero=1"),
    ("llama3_8b", B200, "megatron", "tp=2 dp_shard=4 zero=1"),
    ("llama3_8b", B300, "megatron", "tp=2 dp_shard=4 zero=1"),
    ("llama3_8b", (), "torchtitan", "pp=2 vpp=2 cp=2 dp_shard=2 zero=1"),
    ("llama3_8b", (), "torchtitan", "dp_shard=8 zero=3 recompute=2"),
    ("llama3_8b", (), "deepspeed", "pp=4 dp_shard=2 zero=1"),
    ("llama3_70b", (), "megatron", "tp=4 pp=4 vpp=2 cp=2 dp_shard=2 zero=1"),
    ("llama3_70b", ("train.precision=fp8",), "megatron", "tp=8 pp=4 vpp=5 dp_shard=2 zero=1"),
    ("llama3_70b", (), "torchtitan", "tp=8 dp_shard=8 zero=3 recompute=1"),
    ("llama3_70b", (), "deepspeed", "dp_shard=64 zero=3 recompute=2 offload=2"),
    ("gpt3_175b", (), "megatron", "tp=8 pp=8 vpp=12 dp_replicate=16 micro_batch=2 recompute=1"),
    ("llama3_405b", (), "megatron", "tp=8 pp=16 vpp=8 dp_shard=128 zero=1"),
    ("llama3_405b", (), "torchtitan", "tp=8 pp=16 vpp=8 dp_shard=128 zero=1 recompute=1"),
    ("llama3_405b_131k", (), "megatron", "tp=8 pp=16 cp=16 dp_shard=8 zero=1"),
    ("llama3_405b_131k", (), "deepspeed", "cp=128 dp_shard=128 zero=3 recompute=2"),
    ("mixtral_8x7b", (), "megatron", "pp=2 vpp=2 ep=8 dp_shard=32 zero=1"),
    ("mixtral_8x7b", (), "megatron", "tp=2 ep=4 etp=1 dp_shard=32 zero=1"),
    ("mixtral_8x7b", (), "torchtitan", "ep=8 dp_shard=64 zero=2"),
    ("deepseek_v3", (), "megatron", "tp=2 pp=16 ep=8 dp_shard=64 zero=1 recompute=2"),
    ("deepseek_v3", (), "megatron", "tp=2 pp=16 ep=16 dp_shard=64 zero=1 recompute=3"),
)  # fmt: skip
#: What a layout that does not say it has: parc would choose, and another price another one.
CHOSEN = {"vpp": 1, "micro_batch": 1, "hpz": 1, "recompute": 0, "recompute_layers": 0, "offload": 0}
GPUS = ("a100_80", "h100_sxm", "b200")
#: Rows, columns and inner width of products: small, narrow and large ones.
PRODUCTS = ((512, 512, 512), (4096, 1024, 8192), (8192, 28672, 8192))
#: Sequence length and micro-batch of Llama 3 8B's attention on a GPU.
ATTENTION = ((1024, 8), (8192, 1), (65536, 1))
#: Bytes and ranks of collectives inside a node and between four.
MESSAGES = ((2**18, 2), (2**22, 8), (2**28, 8), (2**28, 32))


#: What a price is of, on which target or GPU, the layout or shape, the term.
Key = tuple[str, str, str, str]


@dataclass(frozen=True)
class Price:
    """One price, seconds or bytes of the fullest rank: of the last release, as accepted since, and why."""

    what: str
    on: str
    layout: str
    term: str
    released: float
    accepted: float
    why: str = ""

    @property
    def key(self) -> Key:
        return self.what, self.on, self.layout, self.term


@dataclass(frozen=True)
class Move:
    """A price that the code gives otherwise than accepted; None where one side has no such price."""

    key: Key
    before: float | None
    after: float | None


def prices() -> dict[Key, float]:
    """Every price that the code gives now."""
    found = {}
    for example, overrides, target, layout in LAYOUTS:
        what = " ".join([example, *overrides])
        for term, value in _of_layout(_job(example, tuple(overrides)), target, layout):
            found[what, target, layout, term] = value
    for gpu in GPUS:
        for shape, term, price in _of_kernels(gpu):
            found["kernel", gpu, shape, term] = price()
    return found


@cache
def _job(example: str, overrides: tuple[str, ...] = ()) -> Job:
    return parc.load(ROOT / "examples" / f"{example}.par", overrides)


def _of_layout(job: Job, target: str, layout: str) -> Iterator[tuple[str, float]]:
    said = (part.split("=") for part in layout.split())
    degrees = CHOSEN | {name: int(value) for name, value in said}
    estimate: Estimate = parc.estimate(job, degrees, target)
    yield "step", estimate.step_seconds
    yield from estimate.time.items()
    yield from ((f"memory: {name}", float(size)) for name, size in estimate.fullest.memory.items())


def _of_kernels(gpu: str) -> Iterator[tuple[str, str, Callable[[], float]]]:
    case = _on(gpu)
    for rows, columns, inner in PRODUCTS:
        shape = [np.array([float(side)]) for side in (rows, columns, inner)]
        text = f"{rows} x {columns} x {inner}"
        yield text, "product", partial(_product, kernels.matmul, case, shape)
        yield text, "gradients", partial(_product, kernels.matmul_backward, case, shape)
    one = np.array([1.0])
    for length, batch in ATTENTION:
        longer = _on(gpu, length)
        text = f"{batch} x {length}"
        ways = (longer, one, one, np.array([float(batch)]))
        yield text, "attention", partial(_seconds, partial(layers.attention_core, *ways))
        backward = partial(layers.attention_core_backward, *ways)
        yield text, "attention, backward", partial(_seconds, backward)
    for size, ranks in MESSAGES:
        group = (case.cluster, np.array([float(size)]), np.array([ranks]), one)
        text = f"{size} B over {ranks}"
        yield text, "all-gather", partial(_seconds, partial(collectives.ring, *group))
        yield text, "all-to-all", partial(_seconds, partial(collectives.all_to_all, *group))


def _on(gpu: str, seq_len: int = 8192) -> Case:
    job = _job("llama3_8b", (f"cluster.gpu=std.{gpu}", f"train.seq_len={seq_len}"))
    return Case(job, BACKENDS["megatron"].target)


def _product(price: kernels.Product, case: Case, sides: Sequence[Column]) -> float:
    return _seconds(lambda: price(case, *sides))


def _seconds(price: Callable[[], Column]) -> float:
    return float(np.ravel(price())[0])


def accepted(path: Path = DATA) -> list[Price]:
    """The lines of data/prices.csv."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = itertools.islice(csv.reader(file), 1, None)
        return [
            Price(what, on, layout, term, float(released), float(accepted), why)
            for what, on, layout, term, released, accepted, why in lines
        ]


def moves(known: Iterable[Price], now: Mapping[Key, float]) -> list[Move]:
    """Prices of `now` that are not within TOLERANCE of the accepted ones, new and lost ones among them."""
    before = {price.key: price.accepted for price in known}
    keys = [*before, *(key for key in now if key not in before)]
    found = (Move(key, before.get(key), now.get(key)) for key in keys)
    return [move for move in found if not _alike(move.before, move.after)]


def _alike(before: float | None, after: float | None) -> bool:
    if before is None or after is None:
        return before is after
    return abs(after - before) <= TOLERANCE * max(abs(before), abs(after))


def table(found: Sequence[Move]) -> str:
    """Prices that moved, as a Markdown table."""
    rows = [[*move.key, _shown(move.before), _shown(move.after), _change(move)] for move in found]
    return markdown(("of", "on", "layout", "term", "before", "after", "change"), rows)


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.5g}"


def _change(move: Move) -> str:
    if move.before and move.after is not None:
        return f"{move.after / move.before - 1:+.1%}"
    return "new" if move.before is None else "gone" if move.after is None else "from 0"


def unexplained(known: Iterable[Price]) -> list[Price]:
    """Lines whose price has moved since the release and that do not say why."""
    return [price for price in known if not (_alike(price.released, price.accepted) or price.why)]


def accept(known: Sequence[Price], now: Mapping[Key, float], because: str) -> list[Price]:
    """The lines with the prices of `now`: those that moved say why, after what they said before."""
    old = {price.key: price for price in known}
    moved = {move.key for move in moves(known, now)}
    lines = []
    for key, value in now.items():
        price = old.get(key) or Price(*key, released=value, accepted=value, why=because)
        if key in moved and key in old:
            reasons = [price.why] if price.why and price.why != because else []
            price = replace(price, accepted=value, why="; ".join([*reasons, because]))
        lines.append(price)
    return lines


def release(known: Iterable[Price]) -> list[Price]:
    return [replace(price, released=price.accepted, why="") for price in known]


def write(lines: Iterable[Price], path: Path = DATA) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Price.__annotations__)
        for price in lines:
            figures = (f"{price.released:.6g}", f"{price.accepted:.6g}")
            writer.writerow([*price.key, *figures, price.why])


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Show which prices a change moves.")
    parser.add_argument("--because", metavar="TEXT", help="accept what moved, and say why it did")
    parser.add_argument("--release", action="store_true", help="take what is accepted as released")
    asked = parser.parse_args(given)
    if asked.because is not None and not asked.because.strip():
        parser.error("--because says why prices moved")
    known = accepted() if DATA.exists() else []
    now = prices()
    found = moves(known, now)
    if found:
        print(table(found))
    print(f"{len(found)} of {len(now)} prices moved by more than {TOLERANCE:.0%}")
    if asked.because:
        write(accept(known, now, asked.because.strip()))
        return 0
    if found:
        return 1
    if asked.release:
        write(release(known))
    return 0


if __name__ == "__main__":
    sys.exit(main())
