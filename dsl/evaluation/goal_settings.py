"""A setting in a goal, such as `max_memory = 90%` -> the complaint, with the clause that was meant."""

import re

from .. import codes
from ..diagnostics import Diagnostic, Fix, did_you_mean, replaced
from ..expression import QUANTITIES, VARIABLES
from ..syntax.tree import Identifier, Setting
from .goal import CLAUSES, WITHIN_KEY
from .other_blocks import of_another
from .spellings import DECISIONS
from .spellings import QUANTITIES as SPELLINGS

#: The quantities of which more is better.
_GAINS = ("mfu", "hfu", "tokens_per_second")
_BOUNDED = re.compile(
    r"(?:(max|maximum|most|min|minimum|least)_)?(\w+?)(?:_(max|limit|budget|cap|min))?"
)


def misplaced_setting(item: Setting) -> Diagnostic:
    """The complaint about a setting other than `within`."""
    key, span = item.key.name, item.span
    message = f"`{' '.join(span.text.split())}` is not a line of a goal"
    near = did_you_mean(key, (WITHIN_KEY,))
    if near is not None:
        return Diagnostic(codes.MISPLACED, message, span, help=near)
    help, fix = _clause(item) or of_another(item) or (f"a goal has {', '.join(CLAUSES)}", None)
    return Diagnostic(codes.MISPLACED, message, span, help=help, fix=fix)


def _clause(item: Setting) -> tuple[str, Fix | None] | None:
    """The clause that was meant."""
    if item.key.name in CLAUSES:
        word, text = "write", f"{item.key.name} {item.value.span.text}"
    elif (objective := _objective(item)) is not None:
        word, text = "an objective is", objective
    elif (condition := _condition(item)) is not None:
        word, text = "a condition is", condition
    else:
        return None
    return f"{word} `{text}`", replaced(item.span, text)


def _named(word: str) -> str | None:
    """The decision or quantity that a word means."""
    low = word.lower()
    known = low if low in VARIABLES or low in QUANTITIES else DECISIONS.get(low)
    return known or SPELLINGS.get(low)


def _objective(item: Setting) -> str | None:
    """`objective = mfu`."""
    meant = _named(item.value.name) if isinstance(item.value, Identifier) else None
    if meant not in QUANTITIES or _named(item.key.name):
        return None
    return f"{'maximize' if meant in _GAINS else 'minimize'} {meant}"


def _condition(item: Setting) -> str | None:
    """`tp = 4`, `max_tp = 8` and `memory_limit = 90%`: a quantity is bounded on the side that costs."""
    key, value = item.key.name.lower(), item.value.span.text
    if (name := _named(key)) is not None:
        bound = "==" if name in VARIABLES else ">=" if name in _GAINS else "<="
        return f"require {name} {bound} {value}"
    parts = _BOUNDED.fullmatch(key)
    name = _named(parts[2]) if parts and (parts[1] or parts[3]) else None
    if parts is None or name is None:
        return None
    least = "min" in (parts[1] or parts[3])[:3] or parts[1] == "least"
    return f"require {name} {'>=' if least else '<='} {value}"
