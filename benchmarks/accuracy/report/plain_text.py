"""The report as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def percent(value: float | None, sign: bool = False) -> str:
    return "-" if value is None else f"{100 * value:{'+' if sign else ''}.1f} %"


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> Iterator[str]:
    """First column to the left, the others to the right."""
    if not lines:
        return
    widths = [max(len(line[column]) for line in (head, *lines)) for column in range(len(head))]
    for line in (head, *lines):
        cells = (
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()
    yield ""


def errors(reports: Mapping[str, Mapping[str, Any]], title: str) -> Iterator[str]:
    """Rows without a time have no line."""
    lines = [
        (
            name,
            str(each["n"]),
            percent(each["bias"], sign=True),
            percent(each["median_ape"]),
            percent(each["p90_ape"]),
            percent(each["coverage"]) if "coverage" in each else "",
        )
        for name, each in reports.items()
        if each["n"] or each.get("coverage") is not None
    ]
    yield from table((title, "rows", "signed median", "median |e|", "p90 |e|", "coverage"), lines)


def kinds(document: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Reports by source; below a source that ran both, those of its dense models and of its experts."""
    found = {}
    for name, each in document["by_source"].items():
        found[name] = each
        parts = each["by_kind"] if len(each["by_kind"]) > 1 else {}
        found |= {f"{name}: {part}": of_it for part, of_it in parts.items()}
    return found


def open_rows(document: Mapping[str, Any]) -> Iterator[str]:
    """Rows that leave fields open, by source: their lowest and highest prices beside what was measured, and
    the errors of parc's own completion."""
    found = {
        name: (each["open"], each["completed"]) for name, each in document["by_source"].items()
    }
    found["all"] = (document["overall"]["open"], document["overall"]["completed"])
    lines = [
        (
            name,
            str(each["n"]),
            percent(each["inside"]),
            percent(each["median_ape"]),
            percent(each["p90_ape"]),
            percent(each["width"]),
            percent(whole["median_ape"]),
            percent(whole["p90_ape"]),
        )
        for name, (each, whole) in found.items()
        if each["n"]
    ]
    head = ("rows that leave fields open", "rows", "inside", "median outside", "p90 outside")
    yield from table((*head, "width", "completed |e|", "p90"), lines)


def simulated(document: Mapping[str, Any]) -> Iterator[str]:
    for name, each in document["simulated"].items():
        rank = each["ranking"]
        ranked = (
            f"; {rank['groups']} jobs ranked at {rank['spearman']:.3f}, regret "
            f"{percent(rank['regret_mean'])}"
            if rank["groups"]
            else ""
        )
        yield (
            f"put together by a simulator: {name}, {each['n']} rows, median |e| "
            f"{percent(each['median_ape'])}, p90 |e| {percent(each['p90_ape'])}{ranked}"
        )
        yield ""


def ranking(document: Mapping[str, Any]) -> Iterator[str]:
    summaries = grouped(document)
    lines = [
        (
            name,
            str(each["groups"]),
            f"{each['spearman']:.3f}",
            percent(each["regret_mean"]),
            percent(each["regret_max"]),
        )
        for name, each in summaries.items()
        if each["groups"]
    ]
    yield from table(("layouts of one job", "groups", "Spearman", "mean regret", "worst"), lines)


def grouped(document: Mapping[str, Any]) -> dict[str, Any]:
    """Summaries of groups by source, and of all."""
    summary = document["group_summary"]
    return {**summary["by_source"], "all": summary["all"]}


def repeated(document: Mapping[str, Any]) -> Iterator[str]:
    spreads: dict[str, list[float]] = {}
    for each in document["repeats"]:
        spreads.setdefault(each["source"], []).append(each["spread"])
    lines = [
        (name, str(len(found)), percent(sum(found) / len(found)), percent(max(found)))
        for name, found in sorted(spreads.items())
    ]
    yield from table(("one layout measured again", "layouts", "mean spread", "largest"), lines)


def memory(document: Mapping[str, Any]) -> Iterator[str]:
    if document["memory"]["n"]:
        overall = {name: value for name, value in document["memory"].items() if name != "by_source"}
        yield from errors(
            {**document["memory"]["by_source"], "all": overall}, "memory of the fullest rank"
        )
    titan = document["torchtitan_memory"]
    yield (
        f"torchtitan's models without a GPU  {titan['n']} layouts  median |e| {percent(titan['median_ape'])}"
        f"  largest {percent(titan['max_ape'])}"
    )
    oom = document["oom"]
    yield f"out of memory  {oom['called_oom']} of {oom['oom_rows']} rows that did are called"
    yield f"               {oom['refused']} of {oom['ran_rows']} rows that ran are refused"
    yield ""


def risks(document: Mapping[str, Any]) -> Iterator[str]:
    """How often runs of a predicted risk ran out of memory."""
    found = document["risk"]
    if not found["n"]:
        return
    yield f"risk  log loss {found['log_loss']:.3f}, Brier score {found['brier']:.3f}{_worst_fifty(found)}"
    for name, each in found["by_source"].items():
        yield f"      {name}: log loss {each['log_loss']:.3f} of {each['n']} rows{_worst_fifty(each)}"
    lines = [
        (
            f"{percent(each['from'])} to {percent(each['to'])}",
            str(each["n"]),
            percent(each["predicted"]),
            percent(each["observed"]),
        )
        for each in found["reliability"]
    ]
    yield from table(("predicted risk", "rows", "its mean", "ran out"), lines)


def _worst_fifty(each: Mapping[str, Any]) -> str:
    if each["worst_fifty"] is None:
        return ""
    return f", the worst fifty next to each other off by {percent(each['worst_fifty'])}"


def counts(
    title: str, found: Mapping[str, int], examples: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    if not found:
        return
    yield title
    for reason, count in sorted(found.items(), key=lambda item: (-item[1], item[0])):
        named = ", ".join(examples.get(reason, ())[:3])
        yield f"  {count:5d}  {reason}" + (
            f"  ({named}{', ...' if count > 3 else ''})" if named else ""
        )
    yield ""


def worst(document: Mapping[str, Any]) -> Iterator[str]:
    for each in document.get("worst", ()):
        layout = " ".join(
            f"{name}={value}"
            for name, value in each["layout"].items()
            if value > 1 or name in ("zero", "recompute")
        )
        time = " ".join(f"{part} {seconds:.3g}" for part, seconds in each["time"].items())
        seconds = f"{each['measured']:.4g} s measured, {each['predicted']:.4g} s predicted"
        yield f"{each['id']}: {percent(each['error'], sign=True)} ({seconds})"
        yield f"    {each['job']}"
        yield f"    {layout}{_range(each)}"
        yield f"    {time}"
    yield ""


def _range(each: Mapping[str, Any]) -> str:
    if not each["range"]:
        return ""
    return "  (fields left open: {:.4g} to {:.4g} s)".format(*each["range"])


def text(document: Mapping[str, Any], examples: Mapping[str, Sequence[str]]) -> str:
    overall = document["overall"]
    middle = {name: percent(value) for name, value in overall["median_of_sources"].items()}
    lines = [
        *errors({"rows": overall["rows"]}, "overall"),
        f"median of sources  median |e| {middle['median_ape']}, p90 |e| {middle['p90_ape']}, "
        f"coverage {percent(document['coverage'])}, in their band {percent(overall['in_band'])}",
        "",
        *errors(kinds(document), "source"),
        *errors(document["by_kind"], "kind of model"),
        *errors(document["by_gpu"], "GPU"),
        *errors(document["by_framework"], "framework"),
        *open_rows(document),
        *simulated(document),
        *ranking(document),
        *repeated(document),
        *memory(document),
        *risks(document),
        *counts("said by rows, not expressed by the model", document["inexpressible"], {}),
        *counts("priced as the nearest plain stack: framework", document["unfamiliar"], {}),
        *counts("left out", document["skipped"], examples),
        *worst(document),
    ]
    return "\n".join(lines).rstrip()
