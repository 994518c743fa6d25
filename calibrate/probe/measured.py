"""Rows of the probe -> `Measured`: the cluster that they tell of, and what looks broken in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ...dsl.diagnostics import Diagnostic, JobError
from ...dsl.hardware import Cluster
from .codes import ABOVE_PEAK, NOT_TOLD
from .hardware import base_of
from .levels import IN_TRAINING, NUMBERS, SHARES, Level, attention_paces, levels, with_value
from .outliers import outliers
from .rows import Probe

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
    """`levels` by name with shares of at most 1; `cluster` holds them, on top of the library's `gpu_entry`
    and `cluster_entry`, None where it has none. `paces` is the time of each kernel of attention over the
    price of the fastest."""

    probe: Probe
    cluster: Cluster
    gpu_entry: str | None
    cluster_entry: str | None
    levels: Mapping[str, Level]
    raised: tuple[str, ...]
    paces: Mapping[str, float]
    warnings: tuple[Diagnostic, ...]

    @property
    def untold(self) -> list[str]:
        """Numbers that the rows do not tell."""
        return [number.name for number in NUMBERS if number.name not in self.levels]


def measured(probe: Probe) -> Measured:
    """Raises JobError where no row tells of anything."""
    base, gpu_entry, cluster_entry = base_of(probe)
    # Attention is priced by the rate of bf16 or fp16, which only rows tell of a GPU that std lacks.
    priced = base.gpu.bf16 or base.gpu.fp16
    found = levels(probe.finished, base) if priced else {}
    if not found:
        message = f"none of the probe's {len(probe.rows)} rows tells of the cluster"
        help = _first_failure(probe) or "start the probe again: it goes on where it ended"
        raise JobError([Diagnostic(NOT_TOLD, message, help=help)])
    if level := found.get("matmul_efficiency"):
        found["matmul_efficiency"] = replace(level, value=IN_TRAINING * level.value)
    cluster, kept, raised = _within_peaks(base, found)
    warnings = [*_above_peaks(raised, found, gpu_entry), *outliers(probe)]
    paces = attention_paces(probe.finished, cluster)
    entries = (gpu_entry, cluster_entry)
    return Measured(probe, cluster, *entries, kept, raised, paces, tuple(warnings))


def _first_failure(probe: Probe) -> str | None:
    return next((f"the first case that failed: {row.failed}" for row in probe.failed), None)


def _within_peaks(
    cluster: Cluster, found: Mapping[str, Level]
) -> tuple[Cluster, dict[str, Level], tuple[str, ...]]:
    """The cluster with the numbers, shares above 1 as a higher peak; those numbers, and the peaks raised."""
    kept, raised = dict(found), list[str]()
    for name, level in found.items():
        factor = max(1.0, level.value) if level.number.bounds is SHARES else 1.0
        kept[name] = replace(kept[name], value=_rounded(kept[name].value / factor))
        if factor > 1.0 and name in PEAKS:
            cluster = _raised(cluster, name, factor)
            raised += PEAKS[name]
            if name == "matmul_efficiency" and (attention := kept.get("attention_efficiency")):
                share = attention.value / factor
                kept["attention_efficiency"] = replace(attention, value=share)
    for level in kept.values():
        cluster = with_value(cluster, level.number, level.value)
    return cluster, kept, tuple(raised)


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
