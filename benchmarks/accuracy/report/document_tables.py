"""The accuracy report as tables of docs/cost-model/ and README.md, and the documents with them renewed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy.report.plain_text import grouped, kinds
from docs.tables import COST_MODEL, README, markdown, renew, renew_among

ROOT = Path(__file__).resolve().parents[3]
#: Pages that show them.
PAGES = (README, *COST_MODEL)
SITE = ROOT / "docs" / "site.md"
SOURCE_HEAD = ("source", "runs", "signed", "median", "90th percentile")
GROUP_HEAD = ("layouts of one job", "jobs", "Spearman", "regret, mean", "largest")

RISK_HEAD = ("predicted risk", "runs", "mean", "ran out of memory")

LEFT_OUT_HEAD = (
    "source",
    "runs",
    "fitted",
    "left out whole",
    "90th percentile",
    "in their band",
    "its stack is then",
)

Report = Mapping[str, Any]


def tables(report: Report) -> dict[str, str]:
    """Errors by source, how well layouts of one job are ranked, risk, and all of it in three lines."""
    return {
        "accuracy": markdown(SOURCE_HEAD, _errors(report)),
        "ranking": _ranking(report),
        "risk": markdown(RISK_HEAD, _risks(report)),
        "accuracy_lines": "\n".join(f"- {line}" for line in _lines(report)),
    }


def write(report: Report) -> None:
    """Renew the tables of the runs that are fitted to."""
    renew_among(PAGES, tables(report))


def write_fresh(report: Report) -> None:
    """Renew the table and the line of runs that nothing was fitted to."""
    lines = {"fresh": markdown(SOURCE_HEAD, _errors(report)), "fresh_line": fresh_line(report)}
    renew_among(PAGES, lines)


def write_left_out(report: Report) -> None:
    """Renew the table and the line of sources left out whole."""
    lines = {"left_out": left_out_table(report), "left_out_line": left_out_line(report)}
    renew_among(PAGES, lines)


def write_doubt(report: Report) -> None:
    """Renew the tables of the stated doubt and of the rules of choice (benchmarks/doubt.py)."""
    renew_among(PAGES, {"doubt": doubt_table(report), "rules": rules_table(report)})


def write_trials(head: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """Renew the table of regrets after trials (benchmarks/trials.py)."""
    renew(SITE, {"trials": markdown(head, lines)})


def doubt_table(report: Report) -> str:
    """Mean probability that the choice is the best, and its mean regret, as stated and as they came about."""
    pairs, seen = report["pairs"], report["measured"]
    drawn = [
        _share(float(np.mean([pair[kind][what] for pair in pairs])))
        for what in ("chance", "regret")
        for kind in ("stated", "realised")
    ]
    measured = [
        _share(seen[f"{kind}_{what}"])
        for what in ("chance", "regret")
        for kind in ("stated", "realised")
    ]
    head = ("mean of", "best: stated", "came about", "regret: stated", "came about")
    lines = [
        (f"{len(pairs)} jobs and targets, drawn truths", *drawn),
        (f"{seen['sweeps']} measured sweeps", *measured),
    ]
    return markdown(head, lines)


def rules_table(report: Report) -> str:
    """Mean regret of each rule of choice under drawn truths, by kind of truth."""
    kinds = report["rules"]
    lines = [
        (rule, *(_share(found[rule]) for found in kinds.values()))
        for rule in next(iter(kinds.values()))
    ]
    return markdown(("the layout that is", *kinds), lines)


def write_published(table: str) -> None:
    """Renew the table of published layouts (`published.py`)."""
    renew_among(PAGES, {"published": table})


def left_out_table(report: Report) -> str:
    """Errors of every source fitted and left out whole (`left_out.py`)."""
    lines = [
        (
            name,
            f"{each['left_out']['n']:,}",
            _share(each["fitted"]["median_ape"]) if each["fitted"]["n"] else "–",
            *map(_share, _two(each["left_out"])),
            f"{100 * each['left_out']['in_band']:.0f} %",
            each["stack"],
        )
        for name, each in report["by_source"].items()
        if each["left_out"]["n"]
    ]
    known, unknown = (report["median_of_sources"][kind] for kind in ("fitted", "left_out"))
    shares = (_share(known["median_ape"]), *map(_share, _two(unknown)))
    inside = f"{100 * unknown['in_band']:.0f} %"
    return markdown(LEFT_OUT_HEAD, [*lines, ("median of sources", "", *shares, inside, "")])


def left_out_line(report: Report) -> str:
    middle, found = report["median_of_sources"]["left_out"], report["by_source"].values()
    later = [each["left_out"]["in_band"] for each in found if not each["fitted"]["n"]]
    inside = f"{100 * middle['in_band']:.0f} %"
    of_later = f", and {100 * np.mean(later):.0f} % of those {len(later)}" if later else ""
    return (
        f"- Step time of runs that nobody has tuned on, each of {len(found)} sources left out whole with "
        f"its stack and its kernels, {len(later)} of which came after all fits: median error "
        f"{_share(middle['median_ape'])}, 90th percentile {_share(middle['p90_ape'])}, each the median over "
        f"sources; {inside} of runs lie in the band that the other sources set{of_later}. It stands in "
        "brackets beside an MFU."
    )


def fresh_line(report: Report) -> str:
    middle, run = report["overall"]["median_of_sources"], report["overall"]["rows"]["n"]
    sources = sum(1 for each in report["by_source"].values() if each["n"])
    oom = report["oom"]
    return (
        f"- Of {run} runs of {sources} sources that were gathered later, to which no price is fitted, the "
        f"median error is {_share(middle['median_ape'])} and the 90th percentile "
        f"{_share(middle['p90_ape'])}, each the median over sources; {oom['refused']} of "
        f"{oom['ran_rows']} that fitted are refused, {oom['called_oom']} of {oom['oom_rows']} that did "
        "not are called."
    )


def _errors(report: Report) -> list[Sequence[str]]:
    rows = {name: each for name, each in kinds(report).items() if each["n"]}
    rows["all rows"] = report["overall"]["rows"]
    table = [
        (name, f"{each['n']:,}", _signed(each["bias"]), *map(_share, _two(each)))
        for name, each in rows.items()
    ]
    middle = report["overall"]["median_of_sources"]
    return [*table, ("median of sources", "", "", *map(_share, _two(middle)))]


def _two(each: Report) -> tuple[float, float]:
    return each["median_ape"], each["p90_ape"]


def _ranking(report: Report) -> str:
    body = [
        (
            name,
            str(each["groups"]),
            f"{each['spearman']:.2f}",
            _share(each["regret_mean"]),
            _share(each["regret_max"]),
        )
        for name, each in grouped(report).items()
    ]
    return markdown(GROUP_HEAD, body)


def _risks(report: Report) -> list[Sequence[str]]:
    return [
        (
            f"{100 * each['from']:.0f} to {100 * each['to']:.0f} %",
            f"{each['n']:,}",
            _share(each["predicted"]),
            _share(each["observed"]),
        )
        for each in report["risk"]["reliability"]
    ]


def _lines(report: Report) -> list[str]:
    overall, ranks = report["overall"], report["group_summary"]["all"]
    middle, memory, oom = overall["median_of_sources"], report["memory"], report["oom"]
    timed = sum(1 for each in report["by_source"].values() if each["n"])
    run = overall["rows"]["n"]
    return [
        f"Of the runs that are fitted to, {run:,} that state their layout: median error "
        f"{_share(middle['median_ape'])}, 90th percentile {_share(middle['p90_ape'])}, each the median over "
        f"{timed} sources.",
        *_completed(report),
        f"Of {ranks['groups']} jobs that were run with four or more layouts, parc's pick is on average "
        f"{_share(ranks['regret_mean'])} slower than the fastest (rank correlation {ranks['spearman']:.2f}).",
        f"Memory: median error {_share(memory['median_ape'])}; {oom['refused']} of {oom['ran_rows']:,} runs "
        f"that fitted are refused, {oom['called_oom']} of {oom['oom_rows']} that did not are called.",
    ]


def _completed(report: Report) -> list[str]:
    """Rows that leave fields open, priced at parc's own completion."""
    found = report["overall"]["completed"]
    sources = sum(1 for each in report["by_source"].values() if each["completed"]["n"])
    if not sources:
        return []
    middle = found["median_of_sources"]
    return [
        f"{found['n']} more leave a micro-batch, recomputation or expert parallelism open and are priced at "
        f"the fastest layout that fits: median error {_share(middle['median_ape'])}, 90th percentile "
        f"{_share(middle['p90_ape'])}, each the median over {sources} sources."
    ]


def _share(value: float) -> str:
    return f"{100 * value:.1f} %"


def _signed(value: float) -> str:
    return f"{100 * value:+.1f} %"
