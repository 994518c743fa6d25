"""Rows of Megatron-LM's constraints are asked of `extra`; `parc compile` lints what it is about to write."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import parc
from parc.__main__ import main
from parc.api import emit, plan_targets
from parc.backends import BACKENDS
from parc.compiler.plan import Plan
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
        ("fine_grained_activation_offloading = true", "PAR303", "needs --offload-modules"),
        (
            'offload_modules = "attn_proj"; fine_grained_activation_offloading = true',
            "PAR303",
            "needs --offload-modules core_attn",
        ),
        ('offload_modules = "attention"', "PAR373", "does not take `attention`"),
        (
            '"cuda-graph-modules" = "moe"; "cuda-graph-impl" = "local"',
            "PAR303",
            "needs --num-experts",
        ),
        ('"main-params-dtype" = "fp16"', "PAR303", "needs --use-precision-aware-optimizer"),
        ("overlap_p2p_communication_warmup_flush = true", "PAR303", "needs --num-virtual-stages"),
        (
            'moe_router_padding_for_quantization = true; moe_token_dispatcher_type = "alltoall"',
            "PAR303",
            "needs --fp8-format",
        ),
        ("deterministic_mode = true", "PAR312", "exclude each other"),
        ("log_memory_interval = 7", "PAR331", "not a multiple of --log-interval"),
    ],
)
def test_options_that_are_wrong_together(tmp_path: Path, extra: str, code: str, said: str) -> None:
    (found,) = complaints(tmp_path, extra)
    assert found.code == code and said in found.message
    assert found.span is not None and found.span.line == 5
    (note,) = found.notes
    assert note.message.startswith("Megatron-LM, ")


@pytest.mark.parametrize(
    "extra",
    ["num_workers = 4", '"cuda-graph-modules" = "moe"', 'offload_modules = "attn_proj"'],
)
def test_an_option_that_is_right_is_written(tmp_path: Path, extra: str) -> None:
    """Megatron-LM looks at modules where something is captured or offloaded."""
    assert complaints(tmp_path, extra) == []


def test_a_slip_in_an_option_of_sbatch_is_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An option that resembles none of SLURM's may be one of a plugin of the site."""
    path = tmp_path / "job.par"
    launch = 'launch slurm {{ time = 4 h; extra = {{ "{}" = "x" }} }}\n'
    for name, said in (("coment", True), ("site-burst", False)):
        path.write_text(JOB.format(extra="") + launch.format(name))
        assert main(["compile", str(path), "-o", str(tmp_path / name)]) == 0
        error = capsys.readouterr().err
        assert ("PAR098" in error and "lint warns of what is written" in error) is said
        assert (f"sbatch has no option --{name}" in error) is said


def test_what_nobody_asked_for_is_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "job.par"
    path.write_text(JOB.format(extra=""))
    backend = BACKENDS["megatron"]

    def spoilt(plan: Plan) -> dict[str, str]:
        files = backend.emit(plan)
        return {name: text.replace("--seq-length", "--seq-len-gth") for name, text in files.items()}

    monkeypatch.setitem(BACKENDS, "megatron", replace(backend, emit=spoilt))
    assert main(["compile", str(path), "-o", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().err
    assert "warning[PAR098]: lint refuses what is written" in said
    assert "--seq-len-gth" in said and "a fault of parc" in said
