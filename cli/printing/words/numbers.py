"""Numbers as a person reads them: rounded, with their unit."""

from __future__ import annotations

from parc.compiler.plan import Estimate
from parc.dsl.job import Job

#: Digits kept of a predicted number: more of them would differ between machines.
DIGITS = 6


def significant(value: float) -> float:
    """A predicted number to as many digits as `plan.json` has: two that differ in none of them are equal."""
    return float(f"{value:.{DIGITS}g}")


def mfu(estimate: Estimate) -> str:
    """The predicted MFU and the whole percents between which four of five runs lie."""
    low, high = (f"{100 * end:.0f}" for end in estimate.mfu_band)
    return f"{estimate.mfu:.1%} ({low}–{high})"


def peak(precision: str, flops: float) -> str:
    """The peak that an MFU is a share of: `fp8's 1,979 TFLOP/s` of one GPU."""
    return f"{precision}'s {flops / 1e12:,.0f} TFLOP/s"


def peak_of(job: Job) -> str:
    """The peak that a job's MFU is a share of."""
    return peak(job.train.precision, job.peak_flops)


def of_peak(job: Job) -> str:
    """Said behind an MFU, where there is little room: the peak where it is not the GPU's 16-bit rate."""
    gpu = job.cluster.gpu
    return "" if job.peak_flops in (gpu.bf16, gpu.fp16) else f" of {peak_of(job)}"


def risk(chance: float) -> str:
    """The chance to run out of memory in whole percent."""
    if chance < 0.005:
        return "< 1 %"
    return f"{chance:.0%}".replace("%", " %") if chance < 0.995 else "> 99 %"


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def duration(days: float) -> str:
    if days >= 2:
        return f"{days:,.0f} days" if days >= 20 else f"{days:.1f} days"
    return f"{days * 24:.1f} hours" if days * 24 >= 1 else f"{days * 1440:.1f} minutes"


def seconds(value: float) -> str:
    """`118.6 s`, in milliseconds below one."""
    return f"{value:.1f} s" if value >= 1 else f"{value * 1000:.{0 if value >= 0.01 else 2}f} ms"


def span(value: float) -> str:
    """Seconds as `1.8 hours`, `42 minutes`, `9.5 s` or `30 ms`."""
    if value >= 2 * 86400:
        return f"{value / 86400:.1f} days"
    if value >= 5400:
        return f"{value / 3600:.1f} hours"
    if value >= 600:
        return f"{value / 60:.0f} minutes"
    return f"{value / 60:.1f} minutes" if value >= 120 else seconds(value)


def number(value: float) -> str:
    return f"{value:.1f}" if value >= 1 else f"{value:.2f}" if value >= 0.01 else f"{value:.1g}"


def stored(size: float) -> str:
    """Bytes as storage counts them: `5.67 TB`."""
    return short(size).replace("B", "G") + "B"


def short(number: float) -> str:
    """A count with three digits and K, M, B or T."""
    for size, suffix in ((1e12, " T"), (1e9, " B"), (1e6, " M"), (1e3, " K")):
        if number >= size:
            return f"{number / size:.3g}{suffix}"
    return f"{number:.3g} "
