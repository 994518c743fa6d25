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
    """Reports by source; below a source that ran both, those of its dense models and of its experts, and
    below one that changed, that of its later rows."""
    found = {}
    for name, each in document["by_source"].items():
        found[name] = each
        parts = each["by_kind"] if len(each["by_kind"]) > 1 else {}
        found |= {f"{name}: {part}": of_it for part, of_it in (parts | each["later"]).items()}
    return found


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
    """Summaries of groups by source, of all, and of those that were measured where others were not."""
    summary = document["group_summary"]
    found = {**summary["by_source"], "all": summary["all"]}
    if 0 < summary["measured"]["groups"] < summary["all"]["groups"]:
        found["all that were measured"] = summary["measured"]
    return found


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
        yield f"    {layout}{'  (completed)' if each['completed'] else ''}"
        yield f"    {time}"
    yield ""


def _parts(overall: Mapping[str, Any]) -> tuple[str, ...]:
    parts = ("rows", "stated", "completed")
    return (*parts, "measured") if 0 < overall["measured"]["n"] < overall["rows"]["n"] else parts


def text(document: Mapping[str, Any], examples: Mapping[str, Sequence[str]]) -> str:
    overall = document["overall"]
    middle = {name: percent(value) for name, value in overall["median_of_sources"].items()}
    lines = [
        *errors({name: overall[name] for name in _parts(overall)}, "overall"),
        f"median of sources  median |e| {middle['median_ape']}, p90 |e| {middle['p90_ape']}, "
        f"coverage {percent(document['coverage'])}",
        "",
        *errors(kinds(document), "source"),
        *errors(document["by_kind"], "kind of model"),
        *errors(document["by_gpu"], "GPU"),
        *errors(document["by_framework"], "framework"),
        *ranking(document),
        *repeated(document),
        *memory(document),
        *counts("said by rows, not expressed by the model", document["inexpressible"], {}),
        *counts("left out", document["skipped"], examples),
        *worst(document),
    ]
    return "\n".join(lines).rstrip()
