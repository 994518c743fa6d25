"""The codes of the compiler's own complaints, and those that changed. Codes of rules stand with the rules, in
`validity.py` and in the targets. A code is never reused."""

from __future__ import annotations

NOT_A_BOUND = "PAR042"
TOO_MANY_VARIABLES = "PAR043"
NO_OBJECTIVE = "PAR044"
NO_LAYOUT = "PAR150"
CONTRADICTION = "PAR151"
UNDECIDED = "PAR152"
TOO_SLOW = "PAR153"
TOO_LARGE = "PAR154"
MEMORY = "PAR511"

#: Code -> (short name, title), for `parc rules`.
CODES: dict[str, tuple[str, str]] = {
    NOT_A_BOUND: ("not-a-bound", "a condition does more with a quantity than bound it"),
    TOO_MANY_VARIABLES: ("too-many-variables", "a condition joins too many variables"),
    NO_OBJECTIVE: ("no-objective", "a quantity that would be improved by wasting work"),
    NO_LAYOUT: ("no-layout", "the rules leave no layout"),
    CONTRADICTION: ("contradiction", "the goal's conditions leave no layout"),
    UNDECIDED: ("undecided", "a layout sets a variable that the target does not decide"),
    TOO_SLOW: ("too-slow", "no layout finishes a step within hours"),
    TOO_LARGE: ("search-too-large", "the search of layouts needs more memory than parc may use"),
    MEMORY: ("memory", "the layout, or every layout of the job, does not fit into memory"),
}

#: Codes that lint keeps, with the number that has what the compiler once meant by them.
MOVED = {"PAR103": "PAR105", "PAR121": "PAR126", "PAR124": "PAR127"}
#: Retired codes, with the one that took their place; "" where nothing did.
RETIRED = {
    "PAR097": "PAR089",
    "PAR311": "PAR303",
    "PAR350": "PAR320",
    "PAR354": "PAR322",
    "PAR360": "PAR321",
    "PAR364": "PAR330",
    "PAR410": "",
    "PAR422": "PAR356",
    "PAR423": "PAR359",
    "PAR424": "PAR321",
    "PAR425": "PAR320",
    "PAR426": "PAR038",
    "PAR427": "PAR330",
    "PAR428": "PAR152",
    "PAR429": "PAR152",
}


def current(code: str) -> str:
    """The code that took a retired code's place; any other text as it is."""
    return RETIRED.get(code) or code


def change(code: str) -> str | None:
    """What became of a code, in words; None where nothing changed."""
    if code in MOVED:
        return f"`{code}` is a rule of lint alone; the compiler's `{code}` is now `{MOVED[code]}`"
    if code in RETIRED:
        return f"`{code}` is retired" + (f", see `{RETIRED[code]}`" if RETIRED[code] else "")
    return None
