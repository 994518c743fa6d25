"""Rows of the probe -> `Measured`: the cluster that they tell of, and what looks broken in it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ...dsl.diagnostics import Diagnostic, JobError
from ...dsl.hardware import Cluster
from .codes import ABOVE_PEAK, NOT_TOLD
from .hardware import base_of
from .in_training import believed
from .levels import (
    NUMBERS,
    SHARES,
    Level,
    attention_paces,
    levels,
    value_of,
    with_value,
)
from .outliers import outliers
from .prices import OPERATION
from .rows import Probe, Training
from .trained_models import Trained, trained

#: Significant digits of a number that is written.
DIGITS = 3
#: The peak that a share is of, where rows may show that the peak is another part's.
PEAKS: Mapping[str, tuple[str, ...]] = {
    "matmul_efficiency": ("bf16", "fp16"),
    "fp8_efficiency": ("fp8",),
    "memory_efficiency": ("memory_bandwidth",),
    "link_efficiency": ("nvlink",),
    "network_efficiency": ("network",),
}


@dataclass(frozen=True)
class Measured:
    """`levels` by name as kernels reach them alone, shares of at most 1; `cluster` holds what is believed of
    them in training, with what the steps of `trained` tell, on top of the library's `gpu_entry` and
    `cluster_entry`, None where it has none. `paces` is the time of each kernel of attention over the price of
    the fastest."""

    probe: Probe
    cluster: Cluster
    gpu_entry: str | None
    cluster_entry: str | None
    levels: Mapping[str, Level]
    raised: tuple[str, ...]
    paces: Mapping[str, float]
    warnings: tuple[Diagnostic, ...]
    trained: Trained

    @property
    def untold(self) -> list[str]:
        """Numbers that the rows do not tell."""
        return [number.name for number in NUMBERS if number.name not in self.levels]

    def value(self, name: str) -> float:
        """A number as it is written."""
        return value_of(self.cluster, self.levels[name].number)


def measured(probe: Probe) -> Measured:
    """Raises JobError where no row tells of anything."""
    base, gpu_entry, cluster_entry = base_of(probe)
    # Attention is priced by the rate of bf16 or fp16, which only rows tell of a GPU that std lacks.
    priced = base.gpu.bf16 or base.gpu.fp16
    alone = levels(probe.finished, base) if priced else {}
    if not alone:
        message = f"none of the probe's {len(probe.rows)} rows tells of the cluster"
        help = _first_failure(probe) or "start the probe again: it goes on where it ended"
        raise JobError([Diagnostic(NOT_TOLD, message, help=help)])
    cluster, kept, raised = _within_peaks(base, alone, known=gpu_entry is not None)
    warnings = [*_above_peaks(raised, alone, gpu_entry), *outliers(probe)]
    looped = base
    for level in alone.values():
        looped = with_value(looped, level.number, level.value)
    paces = attention_paces(probe.finished, looped)
    entries = (gpu_entry, cluster_entry)
    models = trained(cluster, [row for row in probe.finished if isinstance(row, Training)])
    return Measured(probe, models.cluster, *entries, kept, raised, paces, tuple(warnings), models)


def _first_failure(probe: Probe) -> str | None:
    return next((f"the first case that failed: {row.failed}" for row in probe.failed), None)


def _within_peaks(
    cluster: Cluster, alone: Mapping[str, Level], known: bool
) -> tuple[Cluster, dict[str, Level], tuple[str, ...]]:
    """The cluster with what is believed of the levels, shares above 1 as a higher peak; those levels, and the
    peaks raised. `known`: the GPU is the library's, whose numbers hold where runs of training tell of them.
    """
    before, kept, raised = cluster, dict(alone), list[str]()
    trained = known and cluster.gpu.measured
    for name, level in alone.items():
        above = level.number.bounds is SHARES and level.value > math.exp(level.spread)
        factor = level.value if above else 1.0
        kept[name] = replace(kept[name], value=kept[name].value / factor)
        if factor > 1.0 and name in PEAKS:
            cluster = _raised(cluster, name, factor)
            raised += PEAKS[name]
            if name == "matmul_efficiency" and (attention := kept.get("attention_efficiency")):
                kept["attention_efficiency"] = replace(attention, value=attention.value / factor)
    for name, level in [*kept.items()]:
        if level.number.bounds is SHARES:
            kept[name] = level = replace(level, value=min(level.value, 1.0))
        peaks = PEAKS.get(name, ())
        like = value_of(before, level.number) if trained and not {*peaks} & {*raised} else None
        value = min(believed(level, like), 1.0 if level.number.bounds is SHARES else math.inf)
        cluster = with_value(cluster, level.number, _rounded(value))
    if host := kept.get("host_time"):
        cluster = _started(cluster, OPERATION * host.value)
    return cluster, kept, tuple(raised)


def _started(cluster: Cluster, seconds: float) -> Cluster:
    """The cluster where the GPU starts a kernel in no more than an operation takes from Python on: a loop of
    small ones takes the longer of the two, which is the host's."""
    launch = min(cluster.gpu.kernel_launch, _rounded(seconds))
    return cluster.model_copy(
        update={"gpu": cluster.gpu.model_copy(update={"kernel_launch": launch})}
    )


def _raised(cluster: Cluster, name: str, factor: float) -> Cluster:
    owner = cluster if name == "network_efficiency" else cluster.gpu
    given = {peak: getattr(owner, peak) for peak in PEAKS[name]}
    update = {peak: _rounded(value * factor) for peak, value in given.items() if value}
    if owner is cluster:
        return cluster.model_copy(update=update)
    return cluster.model_copy(update={"gpu": cluster.gpu.model_copy(update=update)})


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _above_peaks(
    raised: tuple[str, ...], found: Mapping[str, Level], entry: str | None
) -> Iterator[Diagnostic]:
    """A library's peak below what was measured is another part's; of a GPU without an entry it is no news."""
    for name, level in found.items():
        if entry and name in PEAKS and set(PEAKS[name]) & set(raised):
            message = (
                f"`{name}` would be {level.value:.3g} of the {PEAKS[name][0]} of std.{entry}, which is "
                "written higher"
            )
            help = (
                f"check that the GPU is the {entry} that its driver calls it, and at which clocks"
            )
            yield Diagnostic(ABOVE_PEAK, message, severity="warning", help=help)
