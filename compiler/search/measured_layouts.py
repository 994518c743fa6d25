"""Layouts that ran on the job's cluster -> the choice among the best predictions.

`cluster.measured`, which `parc calibrate` writes, holds by job and layout what a step took over what it is
predicted to take. That moves the layout itself and, less, those that split the model alike (a Gaussian
process over pricing/mechanisms.py's `kinship`); what a run tells of all is in the site's fitted figures.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ...dsl.diagnostics import Diagnostic, JobError, did_you_mean
from ...dsl.expression import VALUES
from ...dsl.job import Job
from ..algebra import Integers, Mask
from ..case import Case
from ..codes import MEASURED
from ..plan import Measured
from ..pricing.mechanisms import RUN, Floats, kinship
from ..run import step_digest
from ..variables import LARGEST, NEUTRAL, ORDER
from .expected_step import DOUBLINGS, excess
from .sweep import PER_STEP, Swept, objectives

#: Ratios that a step may be off; beyond them something else ran.
LEAST, MOST = 0.1, 10.0
#: Layouts, and ln(measured / predicted time of a step) of each.
Known = list[tuple[dict[str, int], float]]
#: Digits of the largest number of a layout.
DIGITS = 12


def entry(job: Job, target: str, layout: Mapping[str, int], ratio: float) -> str:
    """How a layout that ran is kept: target, job, decisions other than neutral ones, and the ratio."""
    words = {name: {each: word for word, each in known.items()} for name, known in VALUES.items()}
    decided = {name: layout[name] for name in ORDER if layout[name] != NEUTRAL.get(name)}
    said = (f"{name}={words.get(name, {}).get(value, value)}" for name, value in decided.items())
    return f"{target} {step_digest(job)}: {','.join(said)} took {ratio:.4g}"


def measured(case: Case) -> Known:
    """The layouts that ran this job on this target, and ln(measured / predicted time of a step) of each.

    Raises JobError for a text that `entry` does not give.
    """
    wanted = f"{case.target.name} {step_digest(case.job)}"
    return [known for head, known in _entries(case) if head == wanted]


def on_target(case: Case) -> Known:
    """The layouts of any job that ran on this target. Raises JobError as `measured` does."""
    return [known for head, known in _entries(case) if head.split(" ")[0] == case.target.name]


def _entries(case: Case) -> list[tuple[str, tuple[dict[str, int], float]]]:
    """Target and job of each run as its text begins, its layout, and ln(measured / predicted time)."""
    found = []
    for text in case.cluster.measured:
        head, _, said = text.partition(":")
        layout, _, ratio = said.rpartition(" took ")
        found.append((head, (_layout(case, text, layout), _logarithm(case, text, ratio))))
    return found


def _layout(case: Case, text: str, layout: str) -> dict[str, int]:
    decided: dict[str, int] = {each: NEUTRAL.get(each, 1) for each in ORDER}
    for part in layout.split(","):
        name, _, value = (piece.strip() for piece in part.partition("="))
        number = VALUES.get(name, {}).get(value, _count(value))
        if name not in decided or not NEUTRAL.get(name, 1) <= number <= LARGEST[name]:
            raise _wrong(
                case, f"`{text}` names no layout: `{part.strip()}`", "" if name in decided else name
            )
        decided[name] = number
    return decided


def _count(text: str) -> int:
    """A whole number of no more digits than any decision has; -1 for every other text."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= DIGITS else -1


def _logarithm(case: Case, text: str, ratio: str) -> float:
    try:
        number = float(ratio)
    except ValueError:
        number = math.nan
    if not LEAST <= number <= MOST:
        message = f"`{text}` gives no ratio of times from {LEAST:g} to {MOST:g}"
        raise _wrong(case, message)
    return math.log(number)


def _wrong(case: Case, message: str, name: str = "") -> JobError:
    help = did_you_mean(name, ORDER) or "`parc calibrate` writes these texts"
    return JobError(
        [Diagnostic(MEASURED, message, case.job.span("cluster", "measured"), help=help)]
    )


def corrections(swept: Swept, rows: Integers) -> Floats:
    """ln of what each of the rows is believed to take over its prediction, given those that ran: of itself,
    and of the layouts that split the model alike."""
    known = measured(swept.space.case)
    if not known:
        return np.zeros(len(rows))
    _, gains = _gains(known, _columns(swept, rows))
    return np.asarray(gains @ [ratio for _, ratio in known])


def believed(swept: Swept, rows: Integers) -> tuple[Floats, Floats]:
    """`corrections`, and the covariance that is left of what the rows cost beyond the mechanisms."""
    known, columns = measured(swept.space.case), _columns(swept, rows)
    spread = kinship(columns, columns)
    if known:
        between, gains = _gains(known, columns)
        spread = spread - gains @ between.T
    return corrections(swept, rows), spread


def _columns(swept: Swept, rows: Integers) -> dict[str, Integers]:
    return {name: swept.space.layouts[name][rows] for name in ORDER}


def _gains(known: Known, columns: Mapping[str, Integers]) -> tuple[Floats, Floats]:
    """Covariance of layouts, rows, with those that ran, columns, and what each run moves a layout by."""
    runs = {name: np.array([layout[name] for layout, _ in known]) for name in ORDER}
    between = kinship(columns, runs)
    noisy = kinship(runs, runs) + RUN**2 * np.eye(len(known))
    return between, np.asarray(np.linalg.solve(noisy, between.T).T)


def ran(swept: Swept, rows: Integers) -> Mask:
    """Which of the rows ran."""
    found = np.zeros(len(rows), dtype=bool)
    for layout, _ in measured(swept.space.case):
        columns = [swept.space.layouts[name][rows] == value for name, value in layout.items()]
        found |= np.logical_and.reduce(columns)
    return found


def chosen(swept: Swept) -> dict[str, int] | None:
    """The layout that is believed to be the best after what ran, as without runs the preferred and simplest
    within the goal's margin; None where no layout of the job ran, or its time is not what the goal asks for.
    """
    rows = swept.by_objective
    moved = corrections(swept, rows)
    if not moved.any() or objectives(swept.space.case)[0].quantity not in PER_STEP:
        return None
    cost = cost_of(swept, rows) + moved
    near = cost <= cost.min() + math.log1p(swept.space.case.job.goal.within)
    effort = np.where(near, swept.effort(rows), np.iinfo(np.int64).max)
    return swept.decisions(int(rows[np.lexsort((cost, effort))[0]]))


def cost_of(swept: Swept, rows: Integers) -> Floats:
    """ln of the first objective, as a cost."""
    objective = objectives(swept.space.case)[0]
    value = np.log(swept.values[objective.quantity][rows].astype(float))
    return np.asarray(value if objective.direction == "minimize" else -value)


def outcome(
    case: Case, layout: Mapping[str, int], best: Mapping[str, int] | None = None
) -> Measured | None:
    """The outcome of runs for a layout and of the one predicted best; None where no layout ran on the target.

    Raises JobError as `measured` does."""
    everything, known = on_target(case), measured(case)
    if not everything:
        return None
    own = _excess(known, layout)
    return Measured(
        runs=len(everything),
        expected=_expected(case, everything, layout) if own is None else own,
        layouts=len(known),
        chosen=own,
        best=_excess(known, best) if best else None,
    )


def _expected(case: Case, known: Known, layout: Mapping[str, int]) -> float:
    """By what share a step of the layout exceeds its prediction, given what ran."""
    ran, one = (_compared(case, each) for each in ([run for run, _ in known], [layout]))
    ratios = np.array([ratio for _, ratio in known])
    return math.expm1(float(excess(ran, ratios, one)[0]))


def _compared(case: Case, layouts: Sequence[Mapping[str, int]]) -> dict[str, Integers]:
    """The columns that `excess` compares."""
    per_node = case.cluster.gpus_per_node
    columns = {
        name: np.array([layout[name] for layout in layouts])
        for name in (*DOUBLINGS, "recompute")
        if name != "gpus"
    }
    return columns | {"gpus": np.array([layout["nodes"] * per_node for layout in layouts])}


def _excess(known: Known, layout: Mapping[str, int]) -> float | None:
    for each, ratio in known:
        if all(layout[name] == value for name, value in each.items()):
            return math.expm1(ratio)
    return None
