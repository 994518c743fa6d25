"""Codes of the compiler's diagnostics other than rules of layouts (`rules/` and the backends have those), and
codes that moved or were retired. A code is never reused."""

NOT_A_BOUND = "PAR042"
TOO_MANY_VARIABLES = "PAR043"
NO_OBJECTIVE = "PAR044"
UNFOLLOWED = "PAR046"
NO_LAYOUT = "PAR150"
CONTRADICTION = "PAR151"
UNDECIDED = "PAR152"
TOO_SLOW = "PAR153"
TOO_LARGE = "PAR154"
RISKY = "PAR155"
MEASURED = "PAR156"
MODEL_TOO_LARGE = "PAR157"
NO_CHECKPOINTS = "PAR184"
STAGED = "PAR185"
NO_SPACE = "PAR187"
MEMORY = "PAR511"

#: Code -> (short name, title), for `parc rules`.
CODES: dict[str, tuple[str, str]] = {
    NOT_A_BOUND: ("not-a-bound", "a condition does more with a quantity than bound it"),
    TOO_MANY_VARIABLES: ("too-many-variables", "a condition joins too many variables"),
    NO_OBJECTIVE: ("no-objective", "a quantity that would be improved by wasting work"),
    UNFOLLOWED: (
        "stage-unfollowed",
        "the layouts of two stages, of which the second cannot load the first's weights",
    ),
    NO_LAYOUT: ("no-layout", "the rules leave no layout"),
    CONTRADICTION: ("contradiction", "the goal's conditions leave no layout"),
    UNDECIDED: ("undecided", "a layout sets a variable that the target does not decide"),
    TOO_SLOW: ("too-slow", "no layout finishes a step within hours"),
    TOO_LARGE: (
        "search-too-large",
        "the search of layouts needs more memory than parc may use, or more time",
    ),
    RISKY: ("risky", "every layout that fits is likely to run out of memory"),
    MEASURED: (
        "measured-layout",
        "a text of `cluster.measured` does not describe a measured layout",
    ),
    MODEL_TOO_LARGE: ("model-too-large", "the model has more parameters than prices can count"),
    NO_CHECKPOINTS: (
        "no-checkpoints",
        "a target writes no checkpoints, and the cluster's failures are known",
    ),
    NO_SPACE: ("no-space", "the checkpoints that stay do not fit into the cluster's space"),
    STAGED: ("staged", "a job of several stages where one layout is asked for"),
    MEMORY: ("memory", "the layout, or every layout of the job, does not fit into memory"),
}

#: Codes of lint that the compiler used too -> the compiler's new code.
MOVED = {"PAR103": "PAR105", "PAR121": "PAR126", "PAR124": "PAR127"}
#: Retired code -> its replacement, "" for none.
RETIRED = {
    "PAR097": "PAR089",
    "PAR188": "",
    "PAR190": "",
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
    "PAR641": "",
    "PAR645": "",
    "PAR646": "",
    "PAR648": "",
    "PAR658": "",
    "PAR659": "",
    "PAR661": "",
}
#: Names of retired rules that settings and comments may still have.
RETIRED_NAMES = {
    "exclusive-without-gpus": "PAR641",
    "kill-on-bad-exit": "PAR645",
    "lost-exit-code": "PAR646",
    "requeue-overwrites": "PAR648",
    "afterok-chain": "PAR658",
    "pipefail-head": "PAR659",
    "log-folder": "PAR661",
}


def current(code: str) -> str:
    """The replacement of a retired code; any other text unchanged."""
    return RETIRED.get(code) or code


def is_retired(name: str) -> bool:
    """Whether a code or a name is that of a retired rule."""
    return name in RETIRED or name in RETIRED_NAMES


def change(code: str) -> str | None:
    """The successor of a code, as a sentence; None where nothing changed."""
    if code in MOVED:
        return f"`{code}` is a rule of lint only; the compiler's `{code}` is now `{MOVED[code]}`"
    if is_retired(code):
        successor = RETIRED.get(code, "")
        return f"`{code}` is retired" + (f", see `{successor}`" if successor else "")
    return None
