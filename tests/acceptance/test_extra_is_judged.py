"""`extra` with keys and values that nobody chose: what parc lets pass the framework's own parser takes, and
what parc calls wrong it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from parc.backends import BACKENDS
from parc.backends.deepspeed import extra as deepspeed_extra
from parc.backends.deepspeed.rules import GRADIENT_NORM
from parc.backends.extra import Value
from parc.backends.megatron import extra as megatron_extra
from parc.backends.megatron.options import Options
from parc.dsl.job import Job
from tests.acceptance.support.drawn_extra import complaints, drawn
from tests.support.bash_launches import launches
from tests.support.sample_plans import sample_job

DRAWS = 3000
#: What PAR450 judges by the layout, and what wants a GPU.
UNDECIDED = {GRADIENT_NORM, "aio.use_gds"}
#: Complaints about a value or a name, which the framework shares, not about what the layout decides.
SHARED = {
    megatron_extra.UNKNOWN,
    megatron_extra.WRONG,
    deepspeed_extra.UNKNOWN,
    deepspeed_extra.WRONG,
}


def codes(job: Job, target: str) -> set[str]:
    return {each.code for each in BACKENDS[target].target.settings(job)}


def words(key: str, value: Value) -> list[str]:
    """What the emitted line says to a program, as bash reads it."""
    rows = [
        word for _, each in megatron_extra.given(Options(extra={key: value})) for word in each.words
    ]
    (launch,) = launches(f"python pretrain_gpt.py {' '.join(rows)}\n")
    return [str(word.text) for word in launch.words[2:]]


def nested(key: str, value: Value) -> dict[str, Any]:
    config: dict[str, Any] = {"train_batch_size": 1}
    inner = config
    *above, last = key.split(".")
    for each in above:
        inner = inner.setdefault(each, {})
    inner[last] = deepspeed_extra.written(key, value)
    return config


def judged(target: str, options: type[Any], seed: int) -> Mapping[bool, list[tuple[str, Value]]]:
    """Drawn pairs by whether parc lets them pass; those that the layout decides are neither."""
    found: dict[bool, list[tuple[str, Value]]] = {True: [], False: []}
    for key, value in drawn(target, DRAWS, seed):
        said = codes(sample_job(target, options(extra={key: value})), target)
        if key in UNDECIDED:
            continue
        if not said or said & SHARED:
            found[not said].append((key, value))
    return found


@pytest.mark.parametrize("target", ["megatron", "deepspeed"])
def test_the_framework_agrees(target: str, pytestconfig: pytest.Config, tmp_path: Path) -> None:
    write = words if target == "megatron" else nested
    found = judged(target, BACKENDS[target].target.options, pytestconfig.option.seed)
    # DeepSpeed makes of a text what it wants, and parc is stricter: "true" is PAR404 to lint.
    outcomes = (True, False) if target == "megatron" else (True,)
    for passes in outcomes:
        pairs = found[passes]
        folder = tmp_path / str(passes)
        folder.mkdir()
        said = complaints(target, [write(key, value) for key, value in pairs], folder)
        wrong = [
            (key, value, each)
            for (key, value), each in zip(pairs, said, strict=True)
            if (not each) is not passes
        ]
        allowed = 0 if passes else len(pairs) // 20
        assert len(pairs) > DRAWS // 10 and len(wrong) <= allowed, (passes, len(wrong), wrong[:20])
