"""Origin of vTrain's single-node rows: python benchmarks/accuracy/vtrain_rows.py

They are published as measured. Taken apart, they are what vTrain's own simulator makes of 32 profiles of one
layer, to the printed nanosecond. This prints the proof, the 32 layer times, and how well layouts could be
ranked by a layer time without the profiles' noise, everything else being as published.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that it runs by its path
from benchmarks.accuracy import accuracy
from benchmarks.accuracy.report import scores
from benchmarks.accuracy.rows.csv_rows import Row, rows
from benchmarks.accuracy.setups.setup import setup_of
from parc.compiler.time import layers as compute

MIB = 2**20
#: Its simulator's vocabulary, divided over tp without padding (src/config.py, src/model/gpt_modeling.py;
#: all of github.com/VIA-Research/vTrain at f8dda84).
VOCABULARY = 50257
#: GB/s of all-reduces of 1 GiB among 2, 4 and 8 A100: its simulator divides larger ones, in whole MiB, by
#: this (trace/a100/AR_GPU*_LUT, src/predictor.py: compute_comm_time).
BUS = {2: 196.89, 4: 221.37, 8: 229.25}
LARGEST = 1024 * MIB


@dataclass(frozen=True)
class Profile:
    """Key of the profile of one layer that a row is made of."""

    hidden: int
    tp: int
    micro_batch: int


def profile_of(row: Row) -> Profile:
    return Profile(row.hidden or 0, row.tp or 0, row.mbs or 0)


def microbatches(row: Row) -> int:
    return (row.gbs or 0) // ((row.mbs or 1) * (row.dp or 1))


def vtrain(path: Path = accuracy.DATA) -> list[Row]:
    found = (row for _, row in rows(path) if isinstance(row, Row))
    return [row for row in found if not accuracy.measured(row)]


def gradient_bytes(row: Row) -> int:
    """Bytes of a rank's 16-bit gradients without a pipeline, as its simulator counts them: table and head
    apart, and 1,024 positions."""
    hidden, tp = row.hidden or 0, row.tp or 1
    share = hidden // tp
    layer = 6 * hidden + 3 * (hidden + 1) * share + hidden * share + 4 * share + 8 * hidden * share
    ends = 2 * (VOCABULARY // tp) * hidden + (row.seq_len or 0) * hidden
    return 2 * ((row.layers or 0) * layer + ends)


def reduced(row: Row) -> float:
    """Seconds in which its simulator all-reduces the gradients, where they are larger than its table."""
    if row.dp == 1:
        return 0.0
    return round(gradient_bytes(row) / MIB) / (BUS[row.dp or 0] * 1024)


def alike(found: Sequence[Row]) -> Iterator[tuple[Row, Row]]:
    """Pairs of rows without a pipeline that differ in the number of replicas alone."""
    plain = [row for row in found if row.pp == 1 and gradient_bytes(row) > LARGEST]
    for one, two in combinations(plain, 2):
        same = profile_of(one) == profile_of(two) and one.layers == two.layers
        if same and microbatches(one) == microbatches(two) and one.dp != two.dp:
            yield one, two


def unexplained(one: Row, two: Row) -> float:
    """Seconds by which two such rows differ beyond their all-reduces."""
    return (one.step_time_s or 0.0) - reduced(one) - (two.step_time_s or 0.0) + reduced(two)


def layer_seconds(found: Sequence[Row]) -> dict[Profile, float]:
    """Seconds of one layer and micro-batch, forward and backward, by profile: what a layer adds to rows of
    one batch without a pipeline, less the layer's update, which two numbers of micro-batches tell apart. A
    profile that has but one takes the update from the same width over the same tp."""
    solved: dict[Profile, float] = {}
    updates: dict[tuple[int, int], float] = {}
    for profile in sorted({profile_of(row) for row in found}, key=lambda it: it.micro_batch):
        slopes = dict(_slopes([row for row in found if profile_of(row) == profile]))
        key = (profile.hidden, profile.tp)
        if len(slopes) > 1:
            (few, low), (many, high) = min(slopes.items()), max(slopes.items())
            solved[profile] = (high - low) / (many - few)
            updates[key] = low - few * solved[profile]
        else:
            count, slope = next(iter(slopes.items()))
            solved[profile] = (slope - updates[key]) / count
    return solved


def _slopes(found: Sequence[Row]) -> Iterator[tuple[int, float]]:
    """Seconds that a layer more takes, by micro-batches, in rows of the most replicas without a pipeline."""
    plain = [row for row in found if row.pp == 1]
    widest = [row for row in plain if row.dp == max(each.dp or 0 for each in plain)]
    for count in sorted({microbatches(row) for row in widest}):
        times = {
            row.layers or 0: row.step_time_s or 0.0 for row in widest if microbatches(row) == count
        }
        few, many = min(times), max(times)
        yield count, (times[many] - times[few]) / (many - few)


def priced_layer(row: Row) -> float:
    """Seconds that a layer keeps the GPU busy by parc's cost model, forward and backward once."""
    case, profile = setup_of(row).case, profile_of(row)
    tp, one, batch = (np.array([value]) for value in (profile.tp, 1, profile.micro_batch))
    tokens = batch * case.seq_len
    halves = (
        compute.attention(case, tp, one, batch),
        compute.attention_backward(case, tp, one, batch),
        compute.dense_ffn(case, tp, tokens),
        compute.dense_ffn_backward(case, tp, tokens),
    )
    return float(sum(np.asarray(half)[0] for half in halves))


def ranking(found: Sequence[Row], layers: Mapping[Profile, float]) -> tuple[float, float]:
    """Mean regret and rank correlation over layouts of one job when a layer takes `layers` in place of what
    it was profiled at, everything else being as published."""
    profiled = layer_seconds(found)
    jobs: dict[tuple[object, ...], list[Row]] = {}
    for row in found:
        jobs.setdefault((row.layers, row.hidden, row.gpus, row.gbs), []).append(row)
    regrets, ranks = [], []
    for members in (each for each in jobs.values() if len(each) >= scores.GROUP):
        measured = np.array([row.step_time_s or 0.0 for row in members])
        change = [layers[profile_of(row)] - profiled[profile_of(row)] for row in members]
        predicted = measured + np.array([_passes(row) for row in members]) * np.array(change)
        regrets.append(scores.regret(predicted, measured))
        ranks.append(scores.spearman(predicted, measured))
    return float(np.mean(regrets)), float(np.mean(ranks))


def _passes(row: Row) -> float:
    """Layers that a step goes through one after another, the pipeline's filling included."""
    pp = row.pp or 1
    return (microbatches(row) + pp - 1) * (row.layers or 0) / pp


def smooth(found: Sequence[Row]) -> Iterator[tuple[float, dict[Profile, float]]]:
    """Layer times without noise: the GPU's time by the cost model and a constant more, or what the host
    takes, whichever is longer, and the collectives. Each with its mean error; constants in steps of 0.2 ms.
    """
    profiled = layer_seconds(found)
    busy = {profile_of(row): priced_layer(row) for row in found}
    sent = {profile: _collectives(profile) for profile in profiled}
    for floor, more in product(np.arange(2.0, 4.1, 0.2) * 1e-3, np.arange(0.0, 3.1, 0.2) * 1e-3):
        curve = {it: max(floor, busy[it] + more) + sent[it] for it in profiled}
        errors = [abs(np.log(curve[it] / profiled[it])) for it in profiled]
        yield float(np.mean(errors)), curve


def polynomial(found: Sequence[Row], degree: int) -> tuple[int, dict[Profile, float]]:
    """Layer times smoothed in the logarithms of micro-batch and tp, each width by itself, and of how many
    numbers they are made."""
    curve: dict[Profile, float] = {}
    profiled, numbers = layer_seconds(found), 0
    for hidden in sorted({it.hidden for it in profiled}):
        of_width = [it for it in profiled if it.hidden == hidden]
        sizes, ways = np.log2([[it.micro_batch, it.tp] for it in of_width]).T
        powers = [(i, j) for i in range(degree + 1) for j in range(degree + 1 - i)]
        terms = np.stack([sizes**i * ways**j for i, j in powers], axis=1)
        factors = np.linalg.lstsq(terms, np.log([profiled[it] for it in of_width]), rcond=None)[0]
        curve |= dict(zip(of_width, np.exp(terms @ factors).tolist(), strict=True))
        numbers += len(powers)
    return numbers, curve


def _collectives(profile: Profile) -> float:
    """Seconds of a layer's four all-reduces at the bandwidth of large ones, and 40 us each."""
    if profile.tp == 1:
        return 0.0
    moved = 2.0 * profile.micro_batch * 1024 * profile.hidden
    return float(4 * (2 * moved * (profile.tp - 1) / profile.tp / (BUS[profile.tp] * 1e9) + 40e-6))


def report(found: Sequence[Row]) -> str:
    pairs = list(alike(found))
    beyond = max(abs(unexplained(*pair)) for pair in pairs)
    longest = max(row.step_time_s or 0.0 for row in found)
    lines = [
        f"{len(pairs)} pairs of rows differ in replicas alone; beyond the all-reduces of vTrain's simulator",
        f"they differ by {beyond * 1e9:.1f} ns at most, of {longest:.1f} s",
        "",
        f"ms of a layer{'micro-batch':>16}" + "".join(f"{size:8}" for size in (1, 2, 4, 8)),
    ]
    layers = layer_seconds(found)
    for hidden, tp in product((1024, 2048), (1, 2, 4, 8)):
        times = [layers[Profile(hidden, tp, size)] * 1e3 for size in (1, 2, 4, 8)]
        lines.append(f"hidden {hidden}, tp {tp:<14}" + "".join(f"{time:8.2f}" for time in times))
    curves = sorted(smooth(found), key=lambda each: each[0])
    error, best = curves[0]
    regret, rank = ranking(found, best)
    least = min(ranking(found, curve)[0] for _, curve in curves)
    lines += [
        "",
        f"a smooth layer time, {100 * error:.0f} % off on average, all else as published:",
        f"regret {100 * regret:.1f} %, rank correlation {rank:.2f}",
        f"the least regret of {len(curves)} such curves: {100 * least:.1f} %",
    ]
    for degree in (1, 2, 3):
        numbers, curve = polynomial(found, degree)
        regret, rank = ranking(found, curve)
        lines.append(
            f"{numbers} numbers through the 32: regret {100 * regret:.1f} %, rank correlation {rank:.2f}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    print(report(vtrain()))
