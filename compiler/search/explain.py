"""A priced space -> diagnostics of why it has no layout, and the constraints that bind its best one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

import numpy as np

from ...dsl.diagnostics import Diagnostic, Note, Span
from ...dsl.job import Constraint, Job
from ..algebra import Mask
from ..case import LIKELY_TO_FIT, Case
from ..codes import CONTRADICTION, MEMORY, NO_LAYOUT, RISKY, TOO_LARGE, TOO_SLOW
from ..headroom import DEFAULT_RISK
from ..risk import bytes_at
from ..rules.validity import WORLD
from ..target import Predicate, Target
from .best_first import empty, exists
from .cp_sat_search import InfeasibleCore, infeasible_core
from .goal_constraints import longest_step_ns
from .layout_text import layout_text, quantity_text
from .least import least_possible
from .nearby_sizes import more_nodes, nearest_batch
from .questions import any_of
from .space import Space
from .sweep import (
    Swept,
    capacity_kib,
    fits,
    host_capacity_kib,
    objectives,
    runnable,
    satisfied,
    score,
    sweep,
)

GIB = 2**30


def no_layout(swept: Swept) -> Diagnostic:
    """The diagnostic for a priced space in which no layout satisfies the hard constraints."""
    space = swept.space
    whole = swept.explored.space if swept.explored else space
    if not space.rows:
        return _no_combination(whole)
    if runnable(space.case, swept.prices).any():
        given = [each for each in space.case.hard if each is not LIKELY_TO_FIT]
        if _feasible(swept, given).any():
            return _only_risky(swept, given)
        core = _core(whole) if swept.explored else infeasible_core(space)
        return _contradiction(swept, core) if core.constraints else _only_risky(swept, [])
    fit = fits(space.case, swept.prices)
    return _too_slow(swept, fit) if fit.any() else _out_of_memory(swept)


def _core(space: Space) -> InfeasibleCore:
    """An irreducible infeasible core of a space too large for one model: each constraint, and the limits on
    memory, that others need to leave no layout (deletion filter)."""
    likely = [each for each in space.case.hard if each is LIKELY_TO_FIT]
    core: list[Constraint | None] = [
        None,
        *(each for each in space.case.hard if each not in likely),
    ]
    for owner in list(core):
        others = [each for each in core if each is not owner]
        given = [each for each in others if each is not None]
        fits = None in others
        if not exists(space, any_of([*given, *(likely if fits else ())], fits)):
            core = others
    return InfeasibleCore(tuple(each for each in core if each is not None), None in core)


def too_large(job: Job, target: Target) -> Diagnostic:
    """The diagnostic for a search that ran out of the memory of the process."""
    return Diagnostic(
        TOO_LARGE,
        f"the memory that parc may use does not hold the layouts of {job.name} on {target.name}",
        _own_span(job, "cluster", "nodes"),
        help="raise the limit on memory (`ulimit -v`, or the container's), or leave fewer layouts to search: "
        "fewer counts of nodes, a global batch with fewer divisors",
    )


def _no_combination(space: Space) -> Diagnostic:
    """The rules leave no layout: name those whose removal alone would leave one, else the fewest that clash,
    and the settings that they relate."""
    biting = _biting(space)
    blockers = [
        rule
        for rule in space.rules
        if rule in biting and not empty(replace(space, without=frozenset({rule})))
    ]
    clash = blockers or clashing(space)
    job = space.case.job
    size = f"{_gpus(space)} GPUs, global batch {job.train.global_batch}, {job.model.layers} layers"
    rules = [
        Note(
            f"without {rule.code} ({rule.name}) there would be layouts: {rule.source}"
            if blockers
            else f"{rule.code} ({rule.name}), {rule.title}: {rule.source}"
        )
        for rule in clash
    ]
    settings = _related(job, clash)
    names = ", ".join(f"`{name}`" for _, name, _ in settings)
    start = (
        ""
        if len(clash) == 1
        else "any of these rules may give way; " if blockers else "these rules clash; "
    )
    match len(settings):
        case 0:
            own = clash[0].cure if len(clash) == 1 else ""
            help = own or f"{start}another target may have other rules"
        case 1:
            help = f"{start}change {names}"
        case _:
            help = f"{start}change one of {names}"
    batch = nearest_batch(space.case)
    return Diagnostic(
        NO_LAYOUT,
        f"{space.case.target.name} has no layout for {size}",
        job.span("train", "global_batch"),
        notes=(*rules, *(Note(text, span) for text, name, span in settings if name != _BATCH)),
        help=f"a global batch of {batch:,} has layouts; or {help}" if batch else help,
    )


def _biting(space: Space) -> set[Predicate]:
    """The rules that leave something out of a space without layouts: without another one it has none, too."""
    empty(space)
    return {
        rule
        for rule in space.rules
        if rule is WORLD or not space.biting.isdisjoint({rule, *space.implied[rule]})
    }


def clashing(space: Space) -> list[Predicate]:
    """Rules that together leave no layout, none of which could be left out."""
    without: frozenset[Predicate] = frozenset()
    kept, biting = [], _biting(space)
    for rule in reversed(space.rules):
        fewer = replace(space, without=without | {rule})
        if rule in biting and not empty(fewer):
            kept.append(rule)
            continue
        without |= {rule}
        biting = _biting(fewer) if rule in biting else biting
    return kept[::-1]


_BATCH = "global_batch"
#: Variables of rules, and the settings of the job that decide what they may be.
_SETTINGS = (
    (("gpus", "dp", "pp", "tp", "cp", "ep"), ("cluster", "nodes")),
    (("dp", "micro_batch", "microbatches"), ("train", _BATCH)),
    (("cp",), ("train", "seq_len")),
    (("tp",), ("model", "heads")),
    (("pp", "vpp"), ("model", "layers")),
    (("ep", "etp"), ("model", "experts")),
)


def _related(job: Job, rules: Sequence[Predicate]) -> list[tuple[str, str, Span | None]]:
    """The settings behind the variables of some rules: each with its value, its name and its place."""
    named = {name for rule in rules for name in rule.of}
    parts = {"cluster": job.cluster, "train": job.train, "model": job.model}
    return [
        (f"{key} is {_listed(getattr(parts[block], key))}", key, _own_span(job, block, key))
        for variables, (block, key) in _SETTINGS
        if named & set(variables)
    ]


def _listed(value: int | tuple[int, ...]) -> str:
    if isinstance(value, tuple):
        return f"{value[0]:,}" if len(value) == 1 else f"{value[0]:,} to {value[-1]:,}"
    return f"{value:,}"


def _gpus(space: Space) -> str:
    """The numbers of GPUs that the job allows, as text."""
    counts = sorted(
        {nodes * space.case.cluster.gpus_per_node for nodes in space.case.cluster.nodes}
    )
    return f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"


def _too_slow(swept: Swept, fit: Mask) -> Diagnostic:
    space = swept.space
    job = space.case.job
    hours, limit = swept.prices.step_ns[fit].min() / 3.6e12, longest_step_ns(space.case) / 3.6e12
    return Diagnostic(
        TOO_SLOW,
        f"{space.case.target.name} needs at least {hours:,.1f} hours for one step, "
        f"and {limit:.1f} is the limit",
        job.span("train", "global_batch"),
        help="use more nodes, or a smaller global batch",
    )


def _out_of_memory(swept: Swept) -> Diagnostic:
    space = swept.space
    row = int(np.argmin(swept.prices.memory_kib))
    needed, capacity = swept.prices.memory_kib[row] / 2**20, space.case.gpu.memory / GIB
    job = space.case.job
    if needed * 2**20 <= capacity_kib(space.case):
        return _out_of_host_memory(swept)
    causes = _memory_rules(space)
    kept = [
        Note(f"without {rule.code} ({rule.name}) a layout would fit: {rule.source}")
        for rule in causes
    ]
    return Diagnostic(
        MEMORY,
        f"{job.model.name or 'the model'} does not fit on {space.case.target.name}: "
        f"the smallest {_of_how_many(swept)} needs {needed:,.1f} GiB of {capacity:.1f} GiB",
        _own_span(job, "cluster", "nodes"),
        notes=(Note(f"that layout is {layout_text(swept.layout(row))}"), *kept),
        help=causes[0].cure if causes else _more_gpus(space.case, needed),
    )


def _of_how_many(swept: Swept) -> str:
    return "layout" if swept.explored else f"of {swept.space.size:,} layouts"


def _memory_rules(space: Space) -> list[Predicate]:
    """The rules with a cure without any one of which a layout would fit."""
    spaces = {
        rule: replace(space, without=space.without | {rule}) for rule in space.rules if rule.cure
    }
    return [rule for rule, more in spaces.items() if fits(space.case, sweep(more).prices).any()]


def _own_span(job: Job, block: str, setting: str) -> Span | None:
    """Where a setting stands in the job's own file: its block where the standard library sets it."""
    span = job.span(block, setting)
    return span if span is None or span.source.name == job.path else job.span(block)


def _more_gpus(case: Case, needed: float) -> str:
    """GPUs that would hold a layout that needs so many GiB, with the risk that the job takes."""
    likely = LIKELY_TO_FIT in case.hard
    capacity = case.gpu.memory / GIB
    allowed = bytes_at(DEFAULT_RISK, capacity, case.target.memory_spread) if likely else capacity
    nodes = more_nodes(case, needed / allowed)
    more = f"{nodes:,} nodes would hold it, or" if nodes else "more nodes alone do not hold it;"
    larger = np.ceil(10 * needed / allowed) / 10
    return f"{more} GPUs with {larger:,.1f} times the memory, or a shorter seq_len"


def _out_of_host_memory(swept: Swept) -> Diagnostic:
    space = swept.space
    kib = swept.prices.host_kib[swept.prices.memory_kib <= capacity_kib(space.case)]
    return Diagnostic(
        MEMORY,
        f"{space.case.target.name} fits only with offload, which needs {kib.min() / 2**20:.1f} GiB "
        f"of host memory per GPU where {host_capacity_kib(space.case) / 2**20:.1f} GiB are left",
        _own_span(space.case.job, "cluster", "node_memory"),
        help="use more nodes, or nodes with more memory",
    )


def _contradiction(swept: Swept, found: InfeasibleCore) -> Diagnostic:
    """Constraints of the job that exclude each other: the message points at the first, notes at others."""
    case = swept.space.case
    first, *others = found.constraints
    notes = [Note(f"the reason given is: {first.reason}")] if first.reason else []
    notes += [
        Note(f"conflicts with {_quote(other)}{_because(other)}", other.span) for other in others
    ]
    if found.memory:
        notes.append(Note(f"the GPU has {case.gpu.memory / GIB:.1f} GiB"))
    notes += least_possible(case, found.constraints)
    many = (
        f"{len(found.constraints)} conditions cannot hold together" if others else "no layout meets"
    )
    subject = f"{many}: " + " and ".join(_quote(each) for each in found.constraints)
    return Diagnostic(
        CONTRADICTION,
        f"{case.target.name}: {subject}" + (" in the GPU's memory" if found.memory else ""),
        first.span,
        notes=tuple(notes),
        help=_nearest(swept, found),
    )


def _only_risky(swept: Swept, given: Sequence[Constraint]) -> Diagnostic:
    """The diagnostic where layouts satisfy the constraints `given`, and all may well run out of memory."""
    space, mask = swept.space, _feasible(swept, given)
    chances = np.broadcast_to(swept.values["risk"], mask.shape)
    least = int(np.argmin(np.where(mask, chances, np.inf)))
    scores = np.where(mask, score(objectives(space.case)[0], swept), np.inf)
    best = int(np.argmin(scores))
    offered = [
        Note(
            f"{name}: {layout_text(swept.layout(row))}, {quantity_text('risk', float(chances[row]))}"
        )
        for name, row in (("least likely", least), ("best", best))
    ]
    allowed = np.ceil(100 * float(chances[least]))
    return Diagnostic(
        RISKY,
        f"{space.case.target.name}: every layout that fits runs out of memory with more than "
        f"{DEFAULT_RISK:.0%} probability",
        _own_span(space.case.job, "cluster", "nodes"),
        notes=tuple(offered[: 1 if least == best else 2]),
        help=f"say `require risk <= {allowed:.0f}%` in the goal to take that, or use more nodes",
    )


def _quote(constraint: Constraint) -> str:
    return f"`{constraint.kind} {constraint.text}`"


def _place(constraint: Constraint) -> str:
    """File name and line; the folder is left out so that plans are the same wherever they are made."""
    if constraint is LIKELY_TO_FIT:
        return "the default"
    return f"{PurePath(constraint.span.source.name).name}:{constraint.span.line}"


def _because(constraint: Constraint) -> str:
    return f" ({constraint.reason})" if constraint.reason else ""


def _nearest(swept: Swept, found: InfeasibleCore) -> str:
    """Which constraint of the core to drop for the best objective, and the layout that is then best."""
    space = swept.space
    hard = space.case.hard
    options: list[tuple[float, str]] = []
    objective = objectives(space.case)[0]
    for dropped in found.constraints:
        mask = _feasible(swept, [each for each in hard if each is not dropped])
        if mask.any():
            scores = np.where(mask, score(objective, swept), np.inf)
            row = int(np.argmin(scores))
            needs = f"without {_quote(dropped)} the best is {layout_text(swept.layout(row))}"
            options.append((float(scores[row]), f"{needs}, {_reached(swept, row, dropped)}"))
    if not options:
        return "drop one of them"
    return min(options)[1]


def _reached(swept: Swept, row: int, dropped: Constraint) -> str:
    """The values that a layout reaches of the quantities in the dropped constraint, else of mfu."""
    from ...dsl.expression import QUANTITIES, names

    shown = sorted(names(dropped.expression) & QUANTITIES.keys()) or ["mfu"]
    return ", ".join(
        quantity_text(name, float(np.ravel(swept.values[name][row])[0])) for name in shown
    )


def _feasible(swept: Swept, constraints: Sequence[Constraint]) -> Mask:
    """Which layouts fit into memory and satisfy the given hard constraints."""
    mask = np.array(fits(swept.space.case, swept.prices))
    for constraint in constraints:
        mask = mask & satisfied(constraint, swept.values)
    return np.broadcast_to(mask, swept.prices.step_ns.shape)


def binding(swept: Swept, row: int) -> tuple[str, ...]:
    """The active constraints at the best layout, a row of the sweep, GPU memory included; each with the ratio
    by which the first objective would improve without it."""
    space = swept.space
    hard = space.case.hard
    objective = objectives(space.case)[0]
    scores = score(objective, swept).astype(np.float64)
    best = float(scores[row])
    lines = []
    for dropped in hard:
        mask = _feasible(swept, [each for each in hard if each is not dropped])
        lines += _gain(
            f"{_quote(dropped)} ({_place(dropped)})", float(scores[mask].min(initial=np.inf)), best
        )
    unlimited = np.ones_like(swept.feasible)
    for constraint in hard:
        unlimited = unlimited & satisfied(constraint, swept.values)
    memory = float(scores[unlimited].min(initial=np.inf))
    return tuple(
        lines + _gain(f"GPU memory of {space.case.gpu.memory / GIB:.1f} GiB", memory, best)
    )


def _gain(name: str, without: float, best: float) -> list[str]:
    if not without < best:
        return []
    if not without:
        return [f"{name}: down to 0 without"]
    ratio = abs(best / without) if best > 0 else abs(without / best)
    better = f"{ratio - 1:.0%}" if ratio < 2 else f"{ratio:.1f} times"
    return [f"{name}: {better} better without it"] if ratio > 1.005 else []
