"""Words of a decision compared by order: `recompute >= fine` -> the numbers of words that it holds for."""

from ..expression import VALUES
from ..plain_arithmetic import apply

#: What an ordered comparison is from the other side.
TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def numbers(op: str, variable: str, bound: float) -> tuple[float, ...]:
    """The numbers of a variable's words for which `word op bound` holds, in the order in which the language
    lists them."""
    listed = list(VALUES[variable].values())
    place = listed.index(int(bound))
    return tuple(float(value) for at, value in enumerate(listed) if apply(op, [at, place]))
