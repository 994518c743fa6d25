"""Plans -> text in full: targets, the terms of memory and time, checkpoints, the choice and its proof."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import exp
from typing import TYPE_CHECKING

from parc.compiler.plan import Estimate, Layout, Measured, Plan
from parc.compiler.risk import FOUR_OF_FIVE
from parc.compiler.search.layout_text import quantity_text
from parc.dsl.expression import COUNTED
from parc.dsl.job import Job

from ..api import Planned
from ..ranking import may_change_places, objectives, value
from .advice_text import advice_lines
from .checkpoints_text import checkpoint_lines
from .choice_text import choice_text, expected_lines
from .fewer_text import fewer_lines
from .settings_text import worthwhile_lines
from .straddling_text import straddling_lines
from .words.layouts import layout_parts, layout_text
from .words.numbers import counted, duration, mfu, number, peak_of, risk, seconds, short
from .words.paragraphs import BELOW, columns, parts, words
from .words.terms import legend

if TYPE_CHECKING:
    from rich.text import Text

GIB = 2**30
BAR = 31
#: Columns of the text to the left of a bar.
USED = 30
SHADES = "█▓▒░"
#: The most terms that are named below a bar; the others are summed as "other".
NAMED = 6
OVERLAPS = "overlaps the best within the error bar"


def plans_text(planned: Planned) -> Text:
    """All targets, the best first, then that one in full."""
    from rich.text import Text

    best = planned.plans[0]
    lines = [*title(planned.job, best.layout), "", *_ranking(planned), ""]
    if advice := advice_lines(best):
        lines += [*advice, ""]
    lines += estimate_lines(best.job, best.target, best.estimate)
    lines += choice_text(best)
    lines += worthwhile_lines(best)
    lines += fewer_lines(best)
    lines += _legend(best.estimate)
    text = Text("\n".join(lines))
    text.highlight_regex(r"\A\S+", "bold")
    text.highlight_regex(r"◀ best", "bold green")
    text.highlight_regex(rf"[{SHADES}]+", "cyan")
    return text


def estimate_text(
    job: Job, target: str, estimate: Estimate, measured: Measured | None = None
) -> str:
    """One priced layout in full, and what runs on the cluster tell of it."""
    head = [*title(job, estimate.layout), "", *_laid_out(f"  {target}  ", estimate.layout), ""]
    ran = expected_lines(estimate.step_seconds, measured)
    return "\n".join([*head, *estimate_lines(job, target, estimate, reserved=True), *ran])


def _laid_out(head: str, layout: Layout) -> list[str]:
    return parts(head, layout_parts(layout))


def estimate_lines(job: Job, target: str, estimate: Estimate, reserved: bool = False) -> list[str]:
    """A priced layout; where asked, with what PyTorch's allocator holds of the GPU's memory."""
    stage, stages = estimate.fullest, estimate.stages
    where = f", stage {stage.index} of {len(stages)} (the fullest)" if len(stages) > 1 else ""
    ceiling = estimate.ceiling_bytes / GIB
    used = (
        f"{stage.memory_bytes / GIB:.1f} of {ceiling:.1f} GiB ({risk(estimate.out_of_memory)} risk)"
    )
    memory = {name: size / GIB for name, size in stage.memory.items()}
    step = seconds(estimate.step_seconds)
    total = f"{estimate.tokens_per_second:,.0f} tokens/s in all"
    return [
        f"{target}{where}",
        f"  memory  {used:<{USED}} {_bar(sum(memory.values()), ceiling)}",
        *parts(BELOW, _terms(memory)),
        *(_reserved(job, target, stage.memory_bytes) if reserved else ()),
        f"  step    {step:<{USED}} {_shares(estimate.time)}",
        *parts(BELOW, _terms(estimate.time)),
        *parts(BELOW, [*reached(job, estimate), total, *trained(job, estimate)]),
        *straddling_lines(job, target, estimate),
        *words("  error   ", _error(estimate)),
        *checkpoint_lines(job, target, estimate),
    ]


def _reserved(job: Job, target: str, used_bytes: int) -> list[str]:
    """The two figures that people read of a GPU: PyTorch's own, and nvidia-smi's; none where no framework
    runs."""
    from parc.backends import BACKENDS
    from parc.compiler.case import Case
    from parc.compiler.memory.peak import context_bytes

    if target not in BACKENDS:
        return []
    outside = context_bytes(Case(job, BACKENDS[target].target))
    held = f"PyTorch reserves {(used_bytes - outside) / GIB:.1f} GiB"
    return parts(BELOW, [held, f"nvidia-smi shows {used_bytes / GIB:.1f}"])


def title(job: Job, layout: Layout) -> list[str]:
    from parc.compiler.model.parameters import total

    gpu = job.cluster.gpu.name.replace("_", " ").upper()
    parameters = short(total(job.model, seq_len=job.train.seq_len))
    return parts(
        f"{job.name}  ",
        [
            f"{parameters} parameters",
            f"{layout.gpus:,} × {gpu} in {counted(layout.nodes, 'node')}",
            f"{job.train.global_batch:,} sequences × {job.train.seq_len:,} tokens",
        ],
    )


def _ranking(planned: Planned) -> list[str]:
    """A line per target, the columns aligned; two where the terminal is too narrow for that."""
    rows = target_rows(planned, layout_text, OVERLAPS)
    if max(map(len, rows)) <= columns():
        return rows
    width = max(len(plan.target) for plan in planned.plans)
    return [
        line
        for plan, row in zip(
            planned.plans, target_rows(planned, lambda _: "", OVERLAPS), strict=True
        )
        for line in (row, *_laid_out(" " * (width + 4), plan.layout))
    ]


def target_rows(planned: Planned, shown: Callable[[Layout], str], overlaps: str) -> list[str]:
    """A row for each target, the columns aligned: its name, what is shown of it, what it reaches, and whether
    that `overlaps` the best one's."""
    names = max(len(plan.target) for plan in planned.plans)
    texts = [shown(plan.layout) for plan in planned.plans]
    width = max(map(len, texts))
    rows = zip(
        planned.plans, texts, _reached(planned.plans), _marks(planned, overlaps), strict=True
    )
    return [
        "  ".join(
            ["", f"{plan.target:<{names}}", *([f"{text:<{width}}"] if width else []), *cells, mark]
        ).rstrip()
        for plan, text, cells, mark in rows
    ]


def _reached(plans: Sequence[Plan]) -> Iterator[list[str]]:
    """The figures that rank each plan, in columns: its GPUs where plans differ in them, the first objective,
    or of one that counts GPUs the time of a step, and the MFU."""
    quantity = objectives(plans[0].job)[0][1]
    if quantity in COUNTED:
        quantity = "step_time"
    found = [[f"MFU {mfu(plan.estimate):<13}" for plan in plans]]
    if quantity != "mfu":
        found.insert(0, [_quantity(plan.estimate, quantity) for plan in plans])
    if len({plan.estimate.gpus for plan in plans}) > 1:
        found.insert(0, [f"{plan.estimate.gpus:,} GPUs" for plan in plans])
    widths = [max(map(len, column)) for column in found]
    for cells in zip(*found, strict=True):
        yield [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]


def _quantity(estimate: Estimate, quantity: str) -> str:
    if quantity == "step_time":
        return f"step {seconds(estimate.step_seconds)}"
    if quantity == "days":
        return duration(estimate.days)
    return quantity_text(quantity, value(estimate, quantity))


def _marks(planned: Planned, overlaps: str) -> list[str]:
    """The mark of each target beside the best one; nothing where there is no other."""
    first, *others = planned.plans
    overlap = [overlaps if may_change_places(first, each) else "" for each in others]
    return ["◀ best" if others else "", *overlap]


def _bar(part: float, whole: float) -> str:
    filled = min(BAR, round(BAR * part / whole))
    return SHADES[0] * filled + SHADES[-1] * (BAR - filled)


def _shares(terms: Mapping[str, float]) -> str:
    """A bar cut into the largest terms, each in its shade; the rest in the last one."""
    whole = sum(terms.values())
    widths = [round(BAR * seconds / whole) for _, seconds in _largest(terms)[: len(SHADES) - 1]]
    bar = "".join(shade * width for shade, width in zip(SHADES, widths, strict=False))[:BAR]
    return bar + SHADES[-1] * (BAR - len(bar))


def _terms(terms: Mapping[str, float]) -> list[str]:
    """The largest terms by name, the rest summed as "other"; one decimal, two below 1."""
    named = _named(terms)
    rest = sum(terms.values()) - sum(value for _, value in named)
    shown = [*named, *([("other", rest)] if rest > 1e-3 else [])]
    return [f"{name.replace('_', ' ')} {number(value)}" for name, value in shown]


def _named(terms: Mapping[str, float]) -> list[tuple[str, float]]:
    return [term for term in _largest(terms) if term[0] != "other"][:NAMED]


def _largest(terms: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(((n, v) for n, v in terms.items() if v > 0), key=lambda term: -term[1])


def reached(job: Job, estimate: Estimate) -> list[str]:
    """The numbers by which runs are compared: of one GPU, and the MFU with the peak that it is a share of."""
    return [
        f"{estimate.tokens_per_second_per_gpu:,.0f} tokens/s/GPU",
        f"{estimate.tflops_per_gpu:,.0f} TFLOP/s/GPU",
        f"MFU {estimate.mfu:.1%} of {peak_of(job)}",
    ]


def trained(job: Job, estimate: Estimate) -> list[str]:
    """How long all of the training takes, and its cost where the cluster has a price."""
    train = job.train
    length = f"{short(train.tokens)} tokens" if train.tokens else f"{train.total_steps:,} steps"
    took = [f"{length} in {duration(estimate.days)}"]
    return [*took, f"{short(estimate.cost)}$"] if estimate.cost else took


def error_bar(estimate: Estimate) -> str:
    """How far four of five measured MFU lie from a predicted one at most."""
    return f"±{exp(FOUR_OF_FIVE * estimate.step_spread) - 1:.0%}"


def _error(estimate: Estimate) -> str:
    low, high = (f"{100 * end:.0f}" for end in estimate.mfu_band)
    share = f"{error_bar(estimate)}, MFU {low}–{high}%, in four runs of five"
    return f"{share}: {estimate.familiarity}"


def _legend(estimate: Estimate) -> list[str]:
    """The terms that are shown by name."""
    time, memory = estimate.time, estimate.fullest.memory
    of_time, of_memory = ([name for name, _ in _named(terms)] for terms in (time, memory))
    summed = any(len(_largest(each)) > NAMED for each in (time, memory))
    return legend(of_time, of_memory, rest=summed)
