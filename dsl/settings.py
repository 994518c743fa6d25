"""Parts of the fields of the language's blocks: units, documentation, bounds, frozen classes."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


@dataclass(frozen=True)
class Unit:
    """Metadata of a field: the dimension of its values, as `units.py` spells it ("1" is a bare number)."""

    dimension: str


@dataclass(frozen=True)
class Doc:
    """Metadata of a field: one line for the language reference."""

    text: str


@dataclass(frozen=True)
class Decides:
    """Metadata of a target's option that decides what is trained: runs that differ in it are two runs."""


@dataclass(frozen=True)
class Open:
    """Metadata of a field that has a price: a set of its words leaves the choice among them to the search.
    `needs` says of some words what whoever takes them needs or gives up.
    """

    needs: tuple[tuple[str, str], ...] = ()


Bytes = Annotated[int, Unit("B"), Field(ge=0, le=10**18)]
Bandwidth = Annotated[float, Unit("B/s"), Field(gt=0, le=1e16)]
Seconds = Annotated[float, Unit("s"), Field(ge=0, le=1e10)]
Positive = Annotated[float, Unit("s"), Field(gt=0, le=1e10)]
FlopRate = Annotated[float, Unit("FLOP/s"), Field(gt=0, le=1e19)]
Watts = Annotated[float, Unit("J/s"), Field(gt=0, le=1e6)]
Price = Annotated[float, Unit("$/s"), Field(ge=0, le=1e3)]
Share = Annotated[float, Unit("1"), Field(gt=0, le=1)]
PossibleShare = Annotated[float, Unit("1"), Field(ge=0, le=1)]
Count = Annotated[int, Unit("1"), Field(ge=1, le=10**7)]
Zero = Annotated[int, Unit("1"), Field(ge=0, le=10**7)]
Factor = Annotated[float, Unit("1"), Field(ge=0, le=1e4)]


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Data(Frozen):
    """The data that a job trains on: sources and their weights, or made-up tokens where there is none."""

    parts: tuple[tuple[str, float], ...] = ()

    @property
    def synthetic(self) -> bool:
        return not self.parts


def token_dtype(vocab: int) -> str:
    """The numpy type of token ids in a flat file unless given: 16 bits hold every id of a vocabulary of at
    most 65,536."""
    return "uint16" if vocab <= 2**16 else "uint32"
