"""`parc compile` reads what it is about to write where `extra` has a part in it."""

from __future__ import annotations

from pathlib import Path

import pytest

import parc
from parc.api import emit, plan_targets
from parc.dsl.diagnostics import Diagnostic

JOB = """
model m from std.llama3_8b {{}}
cluster c from std.dgx_h100 {{ nodes = 2 }}
train {{ seq_len = 4096; global_batch = 256; steps = 1000 }}
target megatron {{ data = synthetic; extra = {{ {extra} }} }}
"""


def complaints(tmp_path: Path, extra: str) -> list[Diagnostic]:
    path = tmp_path / "job.par"
    path.write_text(JOB.format(extra=extra))
    planned, emitted = emit(plan_targets(parc.load(path)))
    found = [diagnostic for _, diagnostic in planned.complaints]
    assert bool(emitted.files) is not bool(found)
    return found


@pytest.mark.parametrize(
    ("extra", "code", "said"),
    [
        (
            '"moe-pad-expert-input-to-capacity" = true',
            "PAR303",
            "needs --moe-expert-capacity-factor",
        ),
        ("delay_wgrad_compute = true", "PAR303", "needs --overlap-moe-expert-parallel-comm"),
    ],
)
def test_options_that_are_wrong_together(tmp_path: Path, extra: str, code: str, said: str) -> None:
    (found,) = complaints(tmp_path, extra)
    assert found.code == "PAR098" and said in found.message
    assert found.span is not None and found.span.line == 5
    (note,) = found.notes
    assert note.message.startswith(f"{code} at megatron/pretrain.sh:")


def test_an_option_that_is_right_is_written(tmp_path: Path) -> None:
    assert complaints(tmp_path, "num_workers = 4") == []
