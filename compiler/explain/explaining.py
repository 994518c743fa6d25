"""A plan -> everything that explains it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..case import Case
from ..plan import Plan
from ..pricing.estimate import decisions, estimate_layout
from ..search.complete_layout import complete
from ..search.questions import Question
from ..search.sweep import Swept
from ..target import Target
from ..variables import PLACE
from .answers import Best, ask, best_at, condition, loss, only, priced, quantity_of
from .conditions import Binding, bindings
from .difference import Difference, difference
from .exchanges import Exchanged, exchanges
from .sensitivity import Threshold, thresholds
from .what_if import Alternative, alternatives


@dataclass(frozen=True)
class Explanation:
    """A plan, and why it is what it is.

    `best` is the layout that is predicted best under the goal, `bare` the best one that fits into memory
    under no condition at all, `margin` the share by which the chosen one is predicted worse than `best`.
    `runners_up` are the plan's, then the best of its rival ways of splitting, each against the chosen layout.
    """

    plan: Plan
    best: Best
    bare: Best
    margin: float
    bindings: tuple[Binding, ...]
    alternatives: tuple[Alternative, ...]
    runners_up: tuple[Difference, ...]
    thresholds: tuple[Threshold, ...]
    exchanges: tuple[Exchanged, ...] = ()

    @property
    def quantity(self) -> str:
        """The goal's first."""
        goals = self.plan.job.goal.objectives
        return goals[0].quantity if goals else "mfu"


def explain(found: Plan, target: Target, known: Swept | None = None) -> Explanation:
    """Asks of a plan what else there is: of its space as the search priced it, where that is `known`; else it
    prices the space again, and solves again where that is too large."""
    case = Case(found.job, target)
    swept = known or priced(case)
    best = best_at(swept, int(swept.by_objective[0]))
    (bare,) = ask(swept, [Question("score", time=True)])
    chosen = decisions(case, found.estimate)
    return Explanation(
        plan=found,
        best=best,
        bare=bare or best,
        margin=_margin(swept, chosen, best),
        bindings=tuple(bindings(swept, best)),
        alternatives=tuple(alternatives(swept, chosen, best)),
        runners_up=tuple(_runners_up(case, found)),
        thresholds=tuple(thresholds(swept, chosen)),
        exchanges=exchanges(case, found.estimate),
    )


def _margin(swept: Swept, chosen: Mapping[str, int], best: Best) -> float:
    exactly = tuple(condition(name, "==", value) for name, value in chosen.items() if name != PLACE)
    return loss(best.score, only(swept, Question("score", exactly)).score)


def _runners_up(case: Case, found: Plan) -> list[Difference]:
    rivals = [each.layout for each in found.doubt.rivals] if found.doubt else []
    layouts = dict.fromkeys([*(each.layout for each in found.runners_up), *rivals])
    quantity = quantity_of(case)
    others = [each.model_dump() for each in layouts if each != found.layout]
    priced = [estimate_layout(case, complete(case, each)) for each in others]
    return [difference(found.estimate, each, quantity) for each in priced]
