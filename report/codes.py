"""The codes of complaints about reports: PAR190. A code is never reused."""

NO_PLOTLY = "PAR190"

#: Code -> (short name, title), for `parc rules`.
CODES: dict[str, tuple[str, str]] = {
    NO_PLOTLY: ("report-plotly", "the library that draws reports is not installed"),
}
