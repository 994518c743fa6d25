"""Plans -> text for a person: the layout in one line, the terms of memory and time, and the proof."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp
from typing import TYPE_CHECKING

from parc.compiler.plan import Estimate, Layout, Measured, Plan
from parc.compiler.risk import FOUR_OF_FIVE
from parc.dsl.job import Job

from ..api import Planned

if TYPE_CHECKING:
    from rich.text import Text

GIB = 2**30
BAR = 31
#: Columns of the text to the left of a bar.
USED = 30
SHADES = "█▓▒░"
#: The most terms that are named to the right of a bar; the others are summed as "other".
NAMED = 6


def plans_text(planned: Planned) -> Text:
    """All targets, a line each, then the best one in full."""
    from rich.text import Text

    lines = [_title(planned.job, planned.plans[0].layout), "", *_ranking(planned), ""]
    best = planned.plans[0]
    lines += estimate_lines(best.job, best.target, best.estimate)
    lines += _forgone(best)
    lines += _doubt(best)
    lines.append(f"  proof   {_proof(best)}")
    text = Text("\n".join(lines))
    text.highlight_regex(r"\A\S+", "bold")
    text.highlight_regex(r"◀ best", "bold green")
    text.highlight_regex(rf"[{SHADES}]+", "cyan")
    return text


def estimate_text(job: Job, target: str, estimate: Estimate) -> str:
    """One priced layout in full."""
    head = [_title(job, estimate.layout), "", f"  {target}  {layout_text(estimate.layout)}", ""]
    return "\n".join([*head, *estimate_lines(job, target, estimate)])


def layout_text(layout: Layout) -> str:
    """The layout in one line, without the degrees that are 1."""
    parts = [
        _degree(name, getattr(layout, name)) for name in ("tp", "pp", "vpp", "cp", "ep", "etp")
    ]
    parts += _data_parallel(layout)
    parts.append(f"micro-batch {layout.micro_batch} × {layout.microbatches}")
    layers = f" in {layout.recompute_layers} layers" if layout.recompute_layers else ""
    parts.append(f"recompute {layout.recompute_name}{layers}")
    if layout.offload:
        parts.append(f"offload {layout.offload_name}")
    return " · ".join(part for part in parts if part)


def estimate_lines(job: Job, target: str, estimate: Estimate) -> list[str]:
    stage, stages = estimate.fullest, estimate.stages
    where = f", stage {stage.index} of {len(stages)} (the fullest)" if len(stages) > 1 else ""
    ceiling = estimate.ceiling_bytes / GIB
    used = f"{stage.memory_bytes / GIB:.1f} of {ceiling:.1f} GiB ({_risk(estimate.out_of_memory)} risk)"
    memory = {name: size / GIB for name, size in stage.memory.items()}
    step = _seconds(estimate.step_seconds)
    return [
        f"{target}{where}",
        f"  memory  {used:<{USED}} {_bar(sum(memory.values()), ceiling)}  {_terms(memory)}",
        f"  step    {step:<{USED}} {_shares(estimate.time)}  {_terms(estimate.time)}",
        f"          {' · '.join(_outcome(job, estimate))}",
        f"  band    {_band(estimate)}",
    ]


def _title(job: Job, layout: Layout) -> str:
    from parc.compiler.model.parameters import total

    gpu = job.cluster.gpu.name.replace("_", " ").upper()
    parameters = short(total(job.model, seq_len=job.train.seq_len))
    return (
        f"{job.name}  {parameters} parameters · {layout.gpus:,} × {gpu} in {_counted(layout.nodes, 'node')}"
        f" · {job.train.global_batch:,} sequences × {job.train.seq_len:,} tokens"
    )


def _ranking(planned: Planned) -> list[str]:
    """One line per target, the columns aligned."""
    rows = [(plan.target, layout_text(plan.layout)) for plan in planned.plans]
    name, layout = (max(map(len, column)) for column in zip(*rows, strict=True))
    lines = [
        f"  {target:<{name}}  {text:<{layout}}  MFU {_mfu(plan.estimate):<13}".rstrip()
        for (target, text), plan in zip(rows, planned.plans, strict=True)
    ]
    if len(lines) == 1:
        return lines
    lines[0] += "  ◀ best"
    low, _ = planned.plans[0].estimate.mfu_band
    marks = [
        "  its band overlaps" if plan.estimate.mfu_band[1] >= low else "" for plan in planned.plans
    ]
    return [lines[0], *(line + mark for line, mark in zip(lines[1:], marks[1:], strict=True))]


def _forgone(plan: Plan) -> list[str]:
    """Why the chosen layout is not the one that is predicted best, and what that costs."""
    if plan.measured is not None:
        return _measured(plan, plan.measured)
    if plan.best is None:
        return []
    objective = plan.job.goal.objectives[0].quantity if plan.job.goal.objectives else "mfu"
    text = f"simpler than {layout_text(plan.best.layout)}"
    slower = plan.estimate.step_seconds / plan.best.step_seconds - 1
    cost = f"{slower:.1%} faster" if slower > 0 else f"better in {objective}"
    return [
        f"  choice  {text}, which is predicted {cost}: within {plan.job.goal.within:.0%} "
        "predictions tell nothing apart"
    ]


def _measured(plan: Plan, measured: Measured) -> list[str]:
    """What runs on the cluster say of the choice."""
    ran = f"{_counted(measured.layouts, 'layout')} of this job ran"
    lines = [f"  choice  {ran}; this one {_took(measured.chosen)}"]
    if plan.best is not None:
        faster = plan.estimate.step_seconds / plan.best.step_seconds - 1
        fastest = f"{layout_text(plan.best.layout)}, predicted {faster:.1%} faster"
        lines.append(f"          {fastest}, {_took(measured.best)}")
    return lines


def _took(excess: float | None) -> str:
    if excess is None:
        return "never ran"
    return f"took {abs(excess):.1%} {'more' if excess > 0 else 'less'} than predicted"


def _doubt(plan: Plan) -> list[str]:
    """How sure the choice is, and which other ways of splitting the model may be better."""
    doubt = plan.doubt
    if doubt is None or doubt.contenders == 1:
        return []
    sure = f"the best with a probability of {_risk(doubt.chance)}, {doubt.regret:.1%} from it on average"
    ways = [(plan.layout, doubt.chance_of_split)]
    ways += [(rival.layout, rival.chance) for rival in doubt.rivals]
    named = ", ".join(f"{_splitting(layout)} ({_risk(chance)})" for layout, chance in ways)
    return [f"  doubt   {sure}", f"          the best has {named}"]


def _splitting(layout: Layout) -> str:
    """How a layout splits the model."""
    degrees = [_degree(name, getattr(layout, name)) for name in ("tp", "pp", "cp", "ep")]
    return " · ".join(filter(None, degrees)) or "no splitting"


def _data_parallel(layout: Layout) -> list[str]:
    if layout.dp == 1 and layout.cp == 1:
        return []
    replicas = (
        f"{layout.dp_replicate} × {layout.dp_shard}" if layout.dp_replicate > 1 else layout.dp
    )
    name = "hsdp" if layout.zero == 3 and layout.dp_replicate > 1 else "dp"
    pieces = [f"{name} {replicas if name == 'hsdp' else layout.dp}", f"zero {layout.zero}"]
    return [*pieces, f"hpz {layout.hpz}"] if layout.hpz > 1 else pieces


def _degree(name: str, degree: int) -> str:
    return f"{name} {degree}" if degree > 1 else ""


def _bar(part: float, whole: float) -> str:
    filled = min(BAR, round(BAR * part / whole))
    return SHADES[0] * filled + SHADES[-1] * (BAR - filled)


def _shares(terms: Mapping[str, float]) -> str:
    """A bar cut into the largest terms, each in its shade; the rest in the last one."""
    whole = sum(terms.values())
    widths = [round(BAR * seconds / whole) for _, seconds in _largest(terms)[: len(SHADES) - 1]]
    bar = "".join(shade * width for shade, width in zip(SHADES, widths, strict=False))[:BAR]
    return bar + SHADES[-1] * (BAR - len(bar))


def _terms(terms: Mapping[str, float]) -> str:
    """The largest terms by name, the rest summed as "other"; one decimal, two below 1."""
    named = [term for term in _largest(terms) if term[0] != "other"][:NAMED]
    rest = sum(terms.values()) - sum(value for _, value in named)
    shown = [*named, *([("other", rest)] if rest > 1e-3 else [])]
    return " · ".join(f"{name.replace('_', ' ')} {_number(value)}" for name, value in shown)


def _largest(terms: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(((n, v) for n, v in terms.items() if v > 0), key=lambda term: -term[1])


def _outcome(job: Job, estimate: Estimate) -> Sequence[str]:
    train = job.train
    length = f"{short(train.tokens)} tokens" if train.tokens else f"{train.total_steps:,} steps"
    parts = [
        f"MFU {_mfu(estimate)}",
        f"{estimate.tokens_per_second:,.0f} tokens/s",
        f"{length} in {duration(estimate.days)}",
    ]
    return [*parts, f"{short(estimate.cost)}$"] if estimate.cost else parts


def _proof(plan: Plan) -> str:
    proof = plan.proof
    chosen = "best" if proof.status == "OPTIMAL" else "best found, not proven,"
    others = " and all that bounds rule out" if proof.ruled_out else ""
    text = f"{chosen} of {proof.layouts:,} layouts{others}, {proof.seconds:.2f} s"
    return f"{text} · binding: {', '.join(plan.binding)}" if plan.binding else text


def _mfu(estimate: Estimate) -> str:
    """The predicted MFU and the whole percents between which four of five runs lie."""
    low, high = (f"{100 * end:.0f}" for end in estimate.mfu_band)
    return f"{estimate.mfu:.1%} ({low}–{high})"


def _band(estimate: Estimate) -> str:
    """How far four of five measured MFU lie from a predicted one at most, and what is known of such runs."""
    return f"±{exp(FOUR_OF_FIVE * estimate.step_spread) - 1:.0%}: {estimate.familiarity}".replace(
        "%", " %"
    )


def _risk(chance: float) -> str:
    """The chance to run out of memory in whole percent."""
    if chance < 0.005:
        return "< 1 %"
    return f"{chance:.0%}".replace("%", " %") if chance < 0.995 else "> 99 %"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def duration(days: float) -> str:
    if days >= 2:
        return f"{days:,.0f} days" if days >= 20 else f"{days:.1f} days"
    return f"{days * 24:.1f} hours" if days * 24 >= 1 else f"{days * 1440:.1f} minutes"


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


def _number(value: float) -> str:
    return f"{value:.1f}" if value >= 1 else f"{value:.2f}" if value >= 0.01 else f"{value:.1g}"


def short(number: float) -> str:
    """A count with three digits and K, M, B or T."""
    for size, suffix in ((1e12, " T"), (1e9, " B"), (1e6, " M"), (1e3, " K")):
        if number >= size:
            return f"{number / size:.3g}{suffix}"
    return f"{number:.3g} "
