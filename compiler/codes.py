"""The codes of the compiler's own complaints, none ever reused. Those of rules stand with the rules, in
`validity.py` and in the targets."""

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
