"""A rule -> how often it was right in files that nobody wrote it for, and the highest level this carries.

`record.csv` counts the findings of benchmarks/data/lint_judged.csv, and is made from it by
`python benchmarks/lint/lint_record.py`. A rule that is mostly wrong in other people's files is a hint,
however bad what it says would be. The shares are chosen and tried by `benchmarks/lint/lint_backtest.py`,
where each draw is judged by the record of those before it.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from ..dsl.diagnostics import Severity
from .rule import FIRST, Rule

FIELDS = ("code", "case", "true", "false", "reported")
#: The share of right findings from which a rule may say errors, and warnings.
ERROR, WARNING = 5 / 6, 3 / 5
#: The newest dated set whose rules were there in every draw: what none of them heard is rare, and no news.
DRAWN = FIRST
#: Levels, the lowest first.
_ORDER: tuple[Severity, ...] = ("info", "warning", "error")
_AN: Mapping[Severity, str] = {"info": "a hint", "warning": "a warning", "error": "an error"}


@dataclass(frozen=True)
class Record:
    """In how many repositories findings were `true` and `false`, and how many `reported` failures it finds.

    `silent` is a rule that all draws could have heard and none did.
    """

    true: int = 0
    false: int = 0
    reported: int = 0
    silent: bool = False

    @property
    def share(self) -> float:
        """The share of right findings to expect, 0 to 1: Laplace's (right + 1) / (all + 2), in which half a
        finding stands for a false one, whose cause has been mended; for a reported failure, which was picked
        because it is one; and for silence."""
        right = self.true + (self.reported + self.silent) / 2
        return (1 + right) / (2 + right + self.false / 2)

    @property
    def level(self) -> Severity:
        """The highest level that it carries."""
        if self.share >= ERROR:
            return "error"
        return "warning" if self.share >= WARNING else "info"

    def __str__(self) -> str:
        judged = f"right in {self.true} of {self.true + self.false} repositories"
        known = f"finds {self.reported} reported failures" if self.reported else ""
        parts = [judged if self.true + self.false else "never judged", known]
        return ", ".join(filter(None, parts))


@cache
def records() -> Mapping[tuple[str, str], Record]:
    """Every record, by code and case."""
    text = (files("parc.lint") / "record.csv").read_text(encoding="utf-8")
    return {
        (row["code"], row["case"]): Record(
            int(row["true"]), int(row["false"]), int(row["reported"])
        )
        for row in csv.DictReader(text.splitlines())
    }


def record_of(rule: Rule, case: str = "") -> Record:
    """The record of a rule's case, where it has one of its own, else the rule's."""
    found = records().get((rule.code, case)) or records().get((rule.code, ""))
    return found or Record(silent=rule.since <= DRAWN)


def default_level(rule: Rule) -> Severity:
    """The level of a rule's findings, where nothing about the file or the project raises or lowers it."""
    return capped(rule, rule.severity)


def judged_text(rule: Rule) -> str:
    """A rule's record and the level that follows, as a sentence for its page and its entry in the list."""
    if rule.of_reading:
        return f"Said as {_AN[rule.severity]}: it is about what parc reads, and needs no record."
    if rule.of_job or rule.asked:
        return f"Said as {_AN[rule.severity]}: no file is judged by it unasked."
    level, own = default_level(rule), _AN[rule.severity]
    weight = f"; of itself {own}" if level != rule.severity else ""
    return f"Said as {_AN[level]}{weight}: {record_of(rule)}."


def capped(rule: Rule, severity: Severity, case: str = "") -> Severity:
    """A level, or the rule's highest where it is above that. What a rule says of the user's own job or of
    parc's reading, and what runs only when it is asked for, is judged by no draw."""
    if rule.of_job or rule.asked or rule.of_reading:
        return severity
    return min(severity, record_of(rule, case).level, key=_ORDER.index)
