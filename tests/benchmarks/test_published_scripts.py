"""NVIDIA's scripts as jobs: every option in which parc differs has a reason, and the page shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.published_scripts.compare import (
    DOCUMENT,
    SCRIPTS,
    Option,
    options,
    reason,
    reasons,
    tables,
)
from docs.tables import filled, renew, shown


def test_tables_are_up_to_date(update: bool) -> None:
    if update:
        renew(DOCUMENT, tables())
    document = Path(DOCUMENT).read_text()
    assert document == filled(document, tables())
    assert set(shown(document)) == set(SCRIPTS)


@pytest.mark.parametrize("script", SCRIPTS)
def test_most_of_what_they_say_is_said(script: str) -> None:
    theirs = [option for option in options(script) if option.theirs is not None]
    assert sum(option.same for option in theirs) > len(theirs) / 2


@pytest.mark.parametrize("script", SCRIPTS)
def test_degrees_and_the_model_are_theirs(script: str) -> None:
    by_name = {option.name: option for option in options(script)}
    for name in (
        "--num-layers",
        "--hidden-size",
        "--tensor-model-parallel-size",
        "--micro-batch-size",
        "--global-batch-size",
        "--seq-length",
    ):
        assert by_name[name].same or by_name[name].by_default, by_name[name]


def test_every_reason_is_used() -> None:
    differing = {
        (script, each.name) for script in SCRIPTS for each in options(script) if not each.same
    }
    unused = [
        (script, name)
        for script, name in reasons()
        if not any(name == other and script in ("*", known) for known, other in differing)
    ]
    assert unused == []


def test_a_difference_without_a_reason_is_an_error() -> None:
    with pytest.raises(KeyError, match="--no-such-option"):
        reason("gpt3_175b", Option("--no-such-option", "1", None))
