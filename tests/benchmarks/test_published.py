"""Published choices: told from two prices, and none is less simple for a gain that counts as none."""

from __future__ import annotations

from functools import cache

import pytest

from benchmarks.accuracy import guide, published
from benchmarks.accuracy.published import LEAST, Choice, choices, stated, why
from parc.compiler.headroom import DEFAULT_RISK


@cache
def found() -> tuple[Choice, ...]:
    return tuple(choices())


def test_all_that_was_published_is_there() -> None:
    assert len(found()) == len(guide.recommended()) + len(published.ROWS) + 2
    gpus = {each.case.cluster.gpu.arch for each in found()}
    assert {"sm80", "sm90", "sm100"} <= gpus
    assert [each.job for each in found() if each.error] == []


def test_deepseek_v3_takes_the_gpu_hours_of_its_paper() -> None:
    """Within 15 %, with the stack that its authors describe; GPU hours per token go with 1 / MFU."""
    choice = published.deepseek_v3()
    assert choice.owners is not None and choice.measured is not None
    assert choice.measured / choice.owners.mfu == pytest.approx(1.0, abs=0.15)


def test_no_choice_is_less_simple_for_a_gain_within_the_noise() -> None:
    assert [each.job for each in found() if each.needlessly_split] == []


def test_a_needless_split_is_seen() -> None:
    """The same two layouts, the other way round."""
    pair = next(each for each in found() if "70B, 512" in each.job)
    assert pair.owners is not None
    close = pair.chosen.model_copy(update={"step_seconds": 0.999 * pair.owners.step_seconds})
    turned = Choice(pair.job, pair.source, pair.case, close, pair.owners)
    assert turned.needlessly_split
    slow = close.model_copy(update={"step_seconds": 1.1 * pair.owners.step_seconds})
    assert not Choice(pair.job, pair.source, pair.case, slow, pair.owners).needlessly_split


def test_a_choice_beats_every_published_layout_that_fits() -> None:
    for each in found():
        assert each.owners is not None
        if each.owners.memory_bytes <= each.owners.ceiling_bytes:
            assert each.chosen.step_seconds <= 1.011 * each.owners.step_seconds, each.job


def test_why_is_told_by_the_numbers() -> None:
    for each in found():
        assert each.owners is not None
        saved = 1 - each.chosen.step_seconds / each.owners.step_seconds
        assert (
            each.gain
            == pytest.approx(saved, abs=1e-6)
            == pytest.approx(sum(each.parts.values()), abs=1e-6)
        )
        assert (each.faster > 0.5) == (saved > 0) or each.owners.layout == each.chosen.layout
        sentence = why(each)
        if each.owners.layout != each.chosen.layout:
            most = max(each.parts, key=lambda name: abs(each.parts[name]))
            assert f"{100 * abs(saved):.1f} %" in sentence
            assert (most in sentence) == (abs(each.parts[most]) >= LEAST)
            assert ("out of memory" in sentence) == (each.owners.out_of_memory > DEFAULT_RISK)


def test_what_owners_measured_is_beside_their_layout() -> None:
    """Llama 3's paper, table 4: 430 and 400 TFLOP/s of one convention."""
    first, second, _ = (each for each in found() if "Llama 3 paper" in each.source)
    assert first.measured and second.measured and 0.35 < second.measured < 0.44
    assert first.measured / second.measured == pytest.approx(430 / 400)
    assert all(each.measured is None for each in found() if each.source.startswith("guide"))


def test_what_owners_stated_is_what_is_priced() -> None:
    priced = {each.job.partition(",")[0]: each for each in found()}
    mixtral = priced["Mixtral-8x7B"].owners
    assert mixtral is not None
    layout = mixtral.layout
    assert (layout.pp, layout.ep, layout.micro_batch, layout.zero) == (4, 8, 1, 1)
    rows = {row.id: stated(row) for row in published.published()}
    assert "recompute" not in rows["megatron-sc21-0001"]
    assert rows["torchtitan-benchmarks-0034"]["recompute"] == 1
