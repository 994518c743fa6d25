"""Where a parser stopped -> what was meant, by goals as other languages have them, or as they are said."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..expression import QUANTITIES, VALUES, VARIABLES
from .stop import Cure, Stop

_OBJECTIVE = r"(?:maximi[sz]e|minimi[sz]e)[ \t]+\w+"
_COMPARED = r"(?:<=|>=|==|!=|<|>)"
_KNOWN = "|".join((*VARIABLES, *QUANTITIES))


def _without_braces(stop: Stop) -> Cure:
    """`goal: maximize mfu`, `goal maximize mfu`, and `maximize mfu` in no block."""
    line = re.compile(rf"(?:goal[ \t]*+(?::[ \t]*+)?)?({_OBJECTIVE})[ \t]*$", re.MULTILINE)
    found = line.match(stop.text, stop.line)
    if found is None or stop.block == "goal":
        return None
    text = f"goal {{ {found[1]} }}"
    return f"write `{text}`", stop.fix(found.start(), found.end(), text)


def _subject_to(stop: Stop) -> Cure:
    """`maximize mfu subject to tp <= 8`."""
    words = r"subject[ \t]+to|such[ \t]+that|so[ \t]+that|where|with|under|s\.t\.|while|if|when"
    found = stop.around(rf"{_OBJECTIVE}((?:[ \t]*+,)?[ \t]++(?:{words})[ \t]+)(?=[\w(])")
    if found is None:
        return None
    return "a condition is a clause of its own", stop.fix(
        found.start(1), found.end(1), "; require "
    )


def _bare_condition(stop: Stop) -> Cure:
    """`tp <= 8` in a goal, and `fix tp = 8`."""
    verbs = r"(?:(?:fix|set|force|use|with|given|keep)[ \t]+)"
    compared = rf"(?:({_COMPARED})|=)(?![=<>])"
    found = stop.around(
        rf"(?:^|(?<=[{{;]))[ \t]*({verbs}?({_KNOWN})\b[ \t]*{compared})(?=[ \t]*[\w(.])"
    )
    if found is None or stop.block != "goal":
        return None
    text = f"require {found[2]} {found[3] or '=='}"
    return f"a condition is `{text} ...`", stop.fix(found.start(1), found.end(1), text)


_SUPERLATIVES = {
    "fastest": "minimize days", "cheapest": "minimize cost", "smallest": "minimize gpus",
    "fewest_gpus": "minimize gpus", "greenest": "minimize energy",
}  # fmt: skip


def _superlative(stop: Stop) -> Cure:
    """`goal { fastest }`."""
    found = stop.around(rf"(?:^|(?<=[{{;]))[ \t]*({'|'.join(_SUPERLATIVES)})[ \t]*(?=[;}}\n])")
    if found is None or stop.block != "goal":
        return None
    text = _SUPERLATIVES[found[1]]
    return f"write `{text}`", stop.fix(found.start(1), found.end(1), text)


#: Comparisons that are said, but for those of a decision with what it divides.
_SAID = {
    "at least": ">=", "no less than": ">=", "over": ">", "above": ">", "more than": ">",
    "at most": "<=", "no more than": "<=", "up to": "<=", "under": "<", "below": "<", "less than": "<",
    "equal to": "==", "within": "<=",
}  # fmt: skip


def _said_comparison(stop: Stop) -> Cure:
    """`mfu at least 40%`, `cost under 1 M$` and `tp divides 8`."""
    words = "|".join(said.replace(" ", "[ \\t]+") for said in _SAID)
    found = stop.around(rf"(?<=[\w)])[ \t]+(?:is[ \t]+)?({words})[ \t]+(?=[\d(.])")
    divides = stop.around(r"\b(\w+)[ \t]+(?:divides|must divide)[ \t]+(\w+)")
    if divides is not None:
        text = f"{divides[2]} % {divides[1]} == 0"
        return f"write `{text}`", stop.fix(divides.start(), divides.end(), text)
    if found is None:
        return None
    right = _SAID[" ".join(found[1].split())]
    return f"write `{right}`", stop.fix(found.start(), found.end(), f" {right} ")


def _bare_membership(stop: Stop) -> Cure:
    """`tp in {1, 2, 4}` without its clause."""
    found = stop.around(rf"(?:^|(?<=[{{;]))[ \t]*(({_KNOWN})[ \t]+in)[ \t]*(?=[{{\[(\d])")
    if found is None or stop.block != "goal":
        return None
    text = f"require {found[1]}"
    return f"a condition is `{text} ...`", stop.fix(found.start(1), found.end(1), text)


def _clause_with_colon(stop: Stop) -> Cure:
    """`require: tp <= 8`."""
    found = stop.around(
        r"(?:^|(?<=[{;]))[ \t]*(?:require|forbid|prefer|maximize|minimize)([ \t]*:[ \t]*)(?=\w)"
    )
    if found is None:
        return None
    return "no colon stands here", stop.fix(found.start(1), found.end(1), " ")


def _without(stop: Stop) -> Cure:
    """`require no recompute`."""
    found = stop.around(rf"\b(?:require|prefer)[ \t]+(no[ \t]+({_KNOWN}))\b")
    if found is None:
        return None
    text = f"{found[2]} == {'none' if 'none' in VALUES.get(found[2], ()) else '1'}"
    return f"write `{text}`", stop.fix(found.start(1), found.end(1), text)


FOREIGN_GOALS: tuple[Callable[[Stop], Cure], ...] = (
    _without_braces,
    _subject_to,
    _clause_with_colon,
    _superlative,
    _said_comparison,
    _bare_membership,
    _bare_condition,
    _without,
)
