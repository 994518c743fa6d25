"""Subjects of a comparison -> a table with a column each, and the settings that differ; or JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from string import ascii_uppercase
from typing import Any

from parc.compiler.variables import NEUTRAL, ORDER

from ..subjects import Subject
from .plan_json import JsonObject
from .words.numbers import seconds
from .words.paragraphs import columns, words

GIB = 2**30
#: Columns of the names of rows, and of a subject.
NAMES, COLUMN = 18, 14
ABSENT = "–"
#: What a row shows of an estimate; a row without values is left out.
FIGURES: tuple[tuple[str, Callable[[Any], str | None]], ...] = (
    ("GPUs", lambda found: f"{found['gpus']:,}"),
    ("step", lambda found: seconds(found["step_seconds"])),
    ("step by runs", lambda found: _by_runs(found)),
    ("MFU", lambda found: f"{found['mfu']:.1%}"),
    ("tokens/s", lambda found: f"{found['tokens_per_second']:,.0f}"),
    ("tokens/s/GPU", lambda found: _rate(found, "tokens_per_second_per_gpu")),
    ("TFLOP/s/GPU", lambda found: _rate(found, "tflops_per_gpu")),
    ("memory", lambda found: f"{found['memory_bytes'] / GIB:.1f} GiB"),
    ("risk", lambda found: f"{found['out_of_memory']:.1%}"),
    ("days", lambda found: f"{found['days']:.1f}"),
    ("cost", lambda found: f"{found['cost']:,.0f} $" if found["cost"] else None),
)


def _rate(found: Any, name: str) -> str | None:
    """None in plans that were written before they told it."""
    return f"{found[name]:,.0f}" if name in found else None


def _by_runs(found: Any) -> str | None:
    """The time that a step is expected to take by runs on its cluster; None where none tells, as in older
    plans."""
    share = (found.get("measured") or {}).get("expected")
    return None if share is None else seconds(found["step_seconds"] * (1 + share))


def comparison_text(subjects: Sequence[Subject]) -> str:
    """As many subjects side by side as fit, then what each of their settings is where they differ."""
    letters = [*ascii_uppercase, *map(str, range(len(ascii_uppercase), len(subjects)))][
        : len(subjects)
    ]
    named = list(zip(letters, subjects, strict=False))
    legend = [f"{letter}  {each.name} ({each.kind})" for letter, each in named]
    notes = [
        line for letter, each in named for note in each.notes for line in words(f"{letter}  ", note)
    ]
    beside = max(1, (columns() - NAMES) // COLUMN)
    tables = [
        "\n".join(_table(letters[start : start + beside], subjects[start : start + beside]))
        for start in range(0, len(subjects), beside)
    ]
    told = ["\n".join(legend), *(["\n".join(notes)] if notes else [])]
    return "\n\n".join([*told, *tables, *_differing(named)])


def _row(name: str, values: Sequence[str | None]) -> Iterator[str]:
    if any(value is not None for value in values):
        yield f"{name:<{NAMES}}" + "".join(f"{value or ABSENT:>{COLUMN}}" for value in values)


def _table(letters: Sequence[str], subjects: Sequence[Subject]) -> Iterator[str]:
    yield from _row("", letters)
    yield from _row("target", [each.target for each in subjects])
    for name in (*ORDER, "dp_replicate", "microbatches"):
        values = [_variable(each, name) for each in subjects]
        if any(value not in (None, str(NEUTRAL.get(name)), "none") for value in values):
            yield from _row(name, values)
    for name, shown in FIGURES:
        yield from _row(
            name, [shown(each.estimate) if each.estimate else None for each in subjects]
        )
        if name == "MFU":
            yield from _peaks(subjects)
    yield from _terms("time of a step, s", [_time(each) for each in subjects], 1.0)
    yield from _terms("fullest GPU, GiB", [_memory(each) for each in subjects], GIB)


def _peaks(subjects: Sequence[Subject]) -> Iterator[str]:
    """The peak that each MFU is a share of, where that differs between subjects."""
    found: list[Any] = [each.peak for each in subjects if each.peak]
    if len({each["flops"] for each in found}) > 1:
        told: list[Any] = [each.peak or {} for each in subjects]
        yield from _row("  precision", [each.get("precision") for each in told])
        rates = [f"{each['flops'] / 1e12:,.0f}" if each else None for each in told]
        yield from _row("  peak, TFLOP/s", rates)


def _terms(heading: str, found: Sequence[dict[str, float]], unit: float) -> Iterator[str]:
    rows: list[str] = []
    for name in dict.fromkeys(name for each in found for name in each):
        values = [f"{each[name] / unit:.2f}" if name in each else None for each in found]
        if any(value not in (None, "0.00") for value in values):
            rows += _row(f"  {name}", values)
    if rows:
        yield from (heading, *rows)


def _variable(subject: Subject, name: str) -> str | None:
    layout: Any = subject.estimate["layout"] if subject.estimate else {}
    return str(layout[name]) if name in layout else None


def _time(subject: Subject) -> dict[str, float]:
    found: Any = subject.estimate["time"] if subject.estimate else {}
    return dict(found)


def _memory(subject: Subject) -> dict[str, float]:
    """Terms of the fullest rank."""
    stages: Any = subject.estimate["stages"] if subject.estimate else []
    return max(
        (dict(each["memory"]) for each in stages), key=lambda it: sum(it.values()), default={}
    )


def _differing(named: Sequence[tuple[str, Subject]]) -> Iterator[str]:
    """By framework, each setting that its subjects give differently."""
    for target in dict.fromkeys(each.target for _, each in named):
        same = [(letter, each) for letter, each in named if each.target == target and each.settings]
        if len(same) < 2:
            continue
        head = f"settings of {target} that differ: {' → '.join(letter for letter, _ in same)}"
        lines = [
            line
            for name, values in differing([each for _, each in same]).items()
            for line in words(f"  {name}  ", " → ".join(each or ABSENT for each in values))
        ]
        yield "\n".join([head, *(lines or ["  none"])])


def differing(subjects: Sequence[Subject]) -> dict[str, list[str | None]]:
    """The value of each subject by setting, where they are not all the same."""
    names = dict.fromkeys(name for each in subjects for name in each.settings)
    found = {name: [each.settings.get(name) for each in subjects] for name in names}
    return {name: values for name, values in found.items() if len(set(values)) > 1}


def comparison_json(subjects: Sequence[Subject]) -> JsonObject:
    """Each subject as `parc estimate --json` has it, and by framework and setting the values that differ."""
    targets = dict.fromkeys(each.target for each in subjects)
    return {
        "subjects": [
            {
                "name": each.name,
                "kind": each.kind,
                "target": each.target,
                "peak": each.peak,
                "estimate": each.estimate,
                "notes": list(each.notes),
            }
            for each in subjects
        ],
        "settings": {
            target: {
                name: dict(zip([each.name for each in same], values, strict=True))
                for name, values in differing(same).items()
            }
            for target in targets
            if len(same := [each for each in subjects if each.target == target]) > 1
        },
    }
