"""Rules that several frameworks share: which widths of a model are multiples of tp, ep and etp."""

from __future__ import annotations

from ...dsl.job import Job
from ..algebra import Column, Mask
from ..target import Effect, Predicate


def feed_forward_widths(job: Job) -> tuple[int, ...]:
    """Feed-forward widths that tp divides, in elements: of dense layers, of all shared experts together."""
    model = job.model
    dense = (model.ffn,) if not model.moe or model.dense_layers else ()
    shared = (model.shared_experts * model.expert_width,) if model.shared_experts else ()
    return dense + shared


def heads_over_tp(source: str, stricter: str = "") -> Predicate:
    return Predicate(
        "PAR111",
        "heads-tp",
        "heads are not a multiple of tp",
        ("tp",),
        lambda job, tp: job.model.heads % tp == 0,
        lambda job, tp: f"heads {job.model.heads} is not a multiple of tp {tp}",
        source,
        stricter,
    )


def widths_over_tp(source: str, stricter: str = "", effect: Effect = Effect.STOPS) -> Predicate:
    return Predicate(
        "PAR113",
        "ffn-tp",
        "a feed-forward width is not a multiple of tp",
        ("tp",),
        _widths_divide,
        _uneven_widths,
        source,
        stricter,
        effect=effect,
    )


def _widths_divide(job: Job, tp: Column) -> Column:
    even: Mask | bool = True
    for width in feed_forward_widths(job):
        even = even & (width % tp == 0)
    return even


def _uneven_widths(job: Job, tp: int) -> str:
    uneven = [str(width) for width in feed_forward_widths(job) if width % tp]
    verb = "is not a multiple" if len(uneven) == 1 else "are not multiples"
    return f"ffn {' and '.join(uneven)} {verb} of tp {tp}"


def experts_over_ep(source: str, stricter: str = "") -> Predicate:
    return Predicate(
        "PAR115",
        "experts-ep",
        "experts are not a multiple of ep",
        ("ep",),
        lambda job, ep: (ep == 1) | ((job.model.experts > 0) & (job.model.experts % ep == 0)),
        lambda job, ep: f"experts {job.model.experts} is not a multiple of ep {ep}",
        source,
        stricter,
    )


def expert_width_over_etp(source: str, stricter: str = "") -> Predicate:
    return Predicate(
        "PAR117",
        "expert-ffn-etp",
        "the width of an expert is not a multiple of etp",
        ("etp",),
        lambda job, etp: (etp == 1) | (job.model.moe & (job.model.expert_width % etp == 0)),
        lambda job, etp: f"expert_ffn {job.model.expert_width} is not a multiple of etp {etp}",
        source,
        stricter,
    )
