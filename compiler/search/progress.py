"""The state of a search and the best layout that it knows, for whoever shows it while it lasts."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...dsl.job import Job
    from .sweep import Swept

#: Seconds before there is more to say than what is searched.
QUIET_SECONDS = 2.0


@dataclass
class Progress:
    """The state of a job's searches: `what` is searched, and by target what goes on and the best so far.

    With `keeps`, `whole` has by target the space that its plan was chosen from, where that was priced whole:
    some 100 MB for 250,000 layouts, which a report draws without pricing them again.
    """

    what: str
    began: float = field(default_factory=time.monotonic)
    doing: dict[str, str] = field(default_factory=dict)
    best: dict[str, str] = field(default_factory=dict)
    keeps: bool = False
    whole: dict[str, Swept] = field(default_factory=dict)

    def says(self, target: str, doing: str) -> None:
        """Notes the present step of the search of a target."""
        self.doing[target] = doing

    def knows(self, swept: Swept) -> None:
        """The best layout that is known so far of a target."""
        if not len(swept.by_objective):
            return
        from .layout_text import layout_text

        row = int(swept.order[0])
        mfu = float(swept.values["mfu"][row])
        text = f"{layout_text(swept.decisions(row))}, MFU {mfu:.1%}"
        self.best[swept.space.case.target.name] = text

    def chose_from(self, swept: Swept) -> None:
        """Keeps the layouts that the plan of a target was chosen from."""
        if self.keeps:
            self.whole[swept.space.case.target.name] = swept

    def keeps_only(self, jobs: Iterable[Job]) -> None:
        """Forgets the layouts that no plan was chosen from, of jobs that were settled in several ways."""
        chosen = {id(job) for job in jobs}
        self.whole = {
            target: swept
            for target, swept in self.whole.items()
            if id(swept.space.case.job) in chosen
        }

    def ends(self, target: str) -> None:
        """The search of a target is over."""
        self.doing.pop(target, None)

    def best_so_far(self) -> list[str]:
        """A line for each target of which a layout is known."""
        return [f"best so far for {target}: {text}" for target, text in self.best.items()]

    def __str__(self) -> str:
        if time.monotonic() - self.began < QUIET_SECONDS or not self.doing:
            return self.what
        target, doing = list(self.doing.items())[-1]
        best = f" · best so far {self.best[target]}" if target in self.best else ""
        return f"{self.what} · {target}: {doing}{best}"
