"""The codes of complaints about logs and fits: PAR790 to PAR799. A code is never reused."""

UNREADABLE = "PAR790"
NO_STEPS = "PAR791"
OTHER_JOB = "PAR792"
LAYOUT = "PAR793"
UNSTEADY = "PAR794"
TOO_FEW = "PAR795"
CONTRADICTORY = "PAR796"
NO_TRIAL = "PAR797"

#: Code -> (short name, title), for `parc rules`.
CODES: dict[str, tuple[str, str]] = {
    UNREADABLE: ("log-unreadable", "a log is missing, empty, packed or too large"),
    NO_STEPS: ("log-foreign", "a log has no line in which a framework of the job reports a step"),
    OTHER_JOB: ("log-of-another-job", "a log is of another job than the one it is given with"),
    LAYOUT: (
        "log-layout",
        "the layout that ran is left open, or given twice with different values",
    ),
    UNSTEADY: ("log-unsteady", "a log has no steady steps to take a time from"),
    TOO_FEW: ("too-few-runs", "one run, or runs of one layout, tell little of a cluster"),
    CONTRADICTORY: (
        "contradictory-runs",
        "no cluster explains the times of all runs",
    ),
    NO_TRIAL: ("no-trial", "no layout is left to try: all that may be the best have run"),
}
