"""Needs of a layout that loads a checkpoint of another one, and those needs as a condition of a goal."""

from dataclasses import dataclass
from typing import Literal

from ..compiler.plan import Layout
from ..dsl.diagnostics import Source, Span
from ..dsl.expression import Call, Const, Name
from ..dsl.job import Constraint

_HOLDS = {"==": int.__eq__, "<=": int.__le__, ">=": int.__ge__}


@dataclass(frozen=True)
class Need:
    """A variable of a layout with a bound; `why` says what in the checkpoint asks for it."""

    name: str
    operator: Literal["==", "<=", ">="]
    value: int
    why: str = ""

    @property
    def text(self) -> str:
        return f"{self.name} {self.operator} {self.value}"

    def met(self, layout: Layout) -> bool:
        return _HOLDS[self.operator](getattr(layout, self.name), self.value)

    def against(self, layout: Layout) -> str:
        """The condition that another layout, which does not meet it, satisfies."""
        found = {"<=": f">= {self.value + 1}", ">=": f"<= {self.value - 1}"}
        return f"{self.name} {found.get(self.operator, f'== {getattr(layout, self.name)}')}"

    def required(self, origin: str) -> Constraint:
        """A hard condition of a goal, which `origin` put there."""
        met = Call(self.operator, (Name(self.name), Const(self.value)))
        return Constraint("require", met, Span(Source(origin, self.text), 0, len(self.text)))
