"""A source's figures -> measured seconds per step: times, tokens per second, or FLOP rates in the
source's convention."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from benchmarks.accuracy.rows.csv_rows import Row, Unusable
from parc.compiler.case import Case
from parc.compiler.model import flops


def _sums(case: Case, convention: flops.Convention) -> tuple[float, float, float]:
    """Forward FLOP of one step: of all layers, of their attention cores alone, of head and MTP."""
    parts = flops.forward(case.model, case.seq_len, convention=convention)
    layers = parts.attention_linear + parts.attention_core + parts.dense_ffn + parts.moe_ffn
    tokens = case.step_tokens
    return tokens * layers, tokens * parts.attention_core, tokens * (parts.head + parts.mtp)


def model_full(case: Case, row: Row) -> float:
    """Each product three times, attention over all keys."""
    layers, _, head = _sums(case, "full")
    return 3 * (layers + head)


def model_causal(case: Case, row: Row) -> float:
    """Each product three times, attention over the keys that the mask leaves."""
    layers, _, head = _sums(case, "halved")
    return 3 * (layers + head)


def hardware(case: Case, row: Row) -> float:
    """FLOP that the GPU runs: full recompute repeats the layers' forward pass, selective recompute that of
    the attention core. For GPT this is 96 B s L h^2 (1 + s/6h + V/16Lh): Narayanan et al. 2021,
    arXiv 2104.04473, equation 3.
    """
    layers, core, head = _sums(case, "full")
    repeated = {"full": layers, "selective": core}.get(row.recompute, 0.0)
    return 3 * (layers + head) + repeated


def blocks_only(case: Case, row: Row) -> float:
    """8 x parameters of the blocks x tokens (BigScience before 2022-02-21)."""
    return 8.0 * 12.0 * case.model.layers * case.model.hidden**2 * case.step_tokens


#: How FLOP are counted, by the word in `flops_convention`.
CONVENTIONS: Mapping[str, Callable[[Case, Row], float]] = {
    "hardware": hardware,
    "blocks": blocks_only,
    "model": model_full,
    "causal": model_causal,
}
#: Frameworks whose model FLOP count attention causal: Megatron-Bridge from its first release on
#: (docs/performance-summary.md).
CAUSAL = ("megatron-bridge",)


def counted(case: Case, row: Row) -> float:
    """FLOP of one step as the row's source counts them."""
    stated = row.flops_convention
    if stated not in CONVENTIONS:
        raise Unusable(f"unknown flops_convention `{stated}`")
    word = "causal" if stated == "model" and row.framework in CAUSAL else stated
    return CONVENTIONS[word](case, row)


def from_time(case: Case, row: Row) -> float | None:
    return row.step_time_s


def from_tokens(case: Case, row: Row) -> float | None:
    rate = row.tokens_per_s_per_gpu
    return case.step_tokens / (rate * (row.gpus or 1)) if rate else None


def from_flops(case: Case, row: Row) -> float | None:
    rate = row.tflops_per_gpu
    return counted(case, row) / (rate * 1e12 * (row.gpus or 1)) if rate else None


def from_mfu(case: Case, row: Row) -> float | None:
    if not row.mfu:
        return None
    if row.mfu > 1:
        raise Unusable("impossible `mfu`")
    return counted(case, row) / (row.mfu * case.job.peak_flops * (row.gpus or 1))


#: In order of trust: the fewer conventions stand between the clock and the number, the better.
WAYS = (from_time, from_tokens, from_flops, from_mfu)


def measured_seconds(case: Case, row: Row) -> float | None:
    """Seconds per step; None when the row has no time. Raises Unusable for a speed above the GPUs'
    peak."""
    for way in WAYS:
        seconds = way(case, row)
        if seconds is not None:
            break
    else:
        return None
    if model_causal(case, row) > seconds * case.job.peak_flops * (row.gpus or 1):
        raise Unusable("measured speed is above the GPUs' peak")
    return seconds
