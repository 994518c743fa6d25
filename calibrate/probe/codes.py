"""The codes of complaints about the probe of a cluster: PAR780 to PAR789. A code is never reused."""

NO_ROWS = "PAR780"
ROWS_BROKEN = "PAR781"
ROWS_MIXED = "PAR782"
NOT_RUN = "PAR783"
NOT_TOLD = "PAR784"
SLOW_RANK = "PAR785"
SLOW_LINK = "PAR786"
ABOVE_PEAK = "PAR787"
CONTRADICTORY = "PAR788"

#: Code -> (short name, title), for `parc rules`.
CODES: dict[str, tuple[str, str]] = {
    NO_ROWS: ("probe-rows-missing", "the file of a probe's rows is missing or empty"),
    ROWS_BROKEN: ("probe-row-broken", "a line is not a row of the probe"),
    ROWS_MIXED: ("probe-rows-mixed", "rows are of another machine, or of another release's probe"),
    NOT_RUN: ("probe-not-run", "the probe could not run to its end"),
    NOT_TOLD: ("probe-tells-nothing", "no case of the probe tells of any number of the cluster"),
    SLOW_RANK: ("slow-rank", "a GPU takes longer than its peers"),
    SLOW_LINK: ("slow-link", "ranks exchange slower than their peers"),
    CONTRADICTORY: ("probe-rows-contradict", "one case of the probe took two very different times"),
    ABOVE_PEAK: ("above-peak", "more was measured than the published peak"),
}
