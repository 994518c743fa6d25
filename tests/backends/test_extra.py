"""`extra` of each target: names and values that its framework's parser takes, and those that it does not."""

from __future__ import annotations

import pytest

from parc.backends import BACKENDS
from parc.backends.extra import Value
from parc.compiler.target import warnings
from parc.dsl.diagnostics import Diagnostic
from tests.support.sample_plans import sample_job

SCHEDULE = "([0]*3+[1]*11)"


def complaints(target: str, **extra: Value) -> list[Diagnostic]:
    options = BACKENDS[target].target.options(extra=extra)
    return list(BACKENDS[target].target.settings(sample_job(target, options)))


@pytest.mark.parametrize(
    ("key", "value", "code", "said"),
    [
        ("nonsense-flag", True, "PAR372", "has no option `--nonsense-flag`"),
        ("moe_extended_tp", True, "PAR372", "has no option `--moe-extended-tp`"),
        ("num_workers", 2.5, "PAR373", "takes a whole number, not `2.5`"),
        ("num-workers", "two", "PAR373", "takes a whole number, not `two`"),
        ("exit-signal", "SIGTER", "PAR373", "takes one of SIGHUP"),
        ("mtp-loss-scaling-factor", True, "PAR373", "takes a number, not `true`"),
        ("log-progress", "yes", "PAR373", "takes no value: write `true`"),
        ("linear-attention-freq", "every second", "PAR373", "takes a whole number, or text as"),
        ("iterations-to-skip", "1 -x", "PAR373", "begin with a dash"),
        ("tensor-model-parallel-size", 2, "PAR330", "the layout decides"),
        ("num-experts", 8, "PAR330", "the job or the layout decides"),
        ("batch-size", 4, "PAR330", "the job or the layout decides"),
        ("persistent-save-interval", 8, "PAR372", "another name of `--save-interval`"),
        ("checkpoint-activations", True, "PAR330", "the job or the layout decides"),
        ("fp8_format", "hybrid", "PAR330", "the job or the layout decides"),
        ("recompute_granularity", "full", "PAR330", "the layout decides"),
        ("optimizer-cpu-offload", True, "PAR330", "the layout decides"),
        ("cp-comm-type", "a2a", "PAR395", "would not be priced"),
        ("num-layers-per-virtual-pipeline-stage", 2, "PAR330", "the layout decides"),
        ("manual-gc-interval", 10, None, ""),
        ("mtp-loss-scaling-factor", 0.1, None, ""),
        ("num-workers", 4.0, None, ""),
        ("linear-attention-freq", SCHEDULE, None, ""),
        ("moe-layer-freq", SCHEDULE, "PAR330", "the job or the layout decides"),
        ("swiglu", True, "PAR330", "the job or the layout decides"),
        ("lr-decay-style", "linear", "PAR330", "the job or the layout decides"),
        ("fp8-recipe", "blockwise", "PAR395", "would not be priced"),
        ("iterations-to-skip", "100 200", None, ""),
        ("log-progress", False, None, ""),
    ],
)
def test_megatrons_own_parser_decides(key: str, value: Value, code: str | None, said: str) -> None:
    found = complaints("megatron", **{key: value})
    assert [each.code for each in found] == ([code] if code else [])
    assert all(said in each.message for each in found)


@pytest.mark.parametrize(
    ("key", "value", "code", "said"),
    [
        ("grad_clip", 1.0, "PAR407", "does not read the key `grad_clip`"),
        ("zero_optimization.stage.x", 1, "PAR403", "`zero_optimization.stage` of DeepSpeed"),
        ("zero_optimization.contiguous_gradient", True, "PAR403", "has no key"),
        ("zero_optimization.reduce_bucket_size", "large", "PAR416", "takes a whole number"),
        ("zero_optimization.reduce_bucket_size", -1, "PAR416", "a number of at least 0"),
        ("wall_clock_breakdown", "true", "PAR416", "takes true or false"),
        ("flops_profiler", True, "PAR416", "takes a table"),
        ("checkpoint.tag_validation", "Sometimes", "PAR416", "takes one of Ignore"),
        ("bf16.enabled", False, "PAR330", "the layout decides"),
        ("zero_optimization.offload_optimizer.device", "cpu", "PAR330", "the layout decides"),
        ("zero_optimization.offload_param.device", "nvme", "PAR330", "the layout decides"),
        ("zero_optimization.cpu_offload", True, "PAR330", "the layout decides"),
        ("tensor_parallel.autotp_size", 2, "PAR330", "the layout decides"),
        ("expert_parallel.enabled", True, "PAR330", "the layout decides"),
        ("pipeline.activation_checkpoint_interval", 1, "PAR330", "the layout decides"),
        ("zero_optimization.offload_optimizer.pin_memory", True, None, ""),
        ("zero_optimization.reduce_bucket_size", 5e8, None, ""),
        ("flops_profiler.enabled", True, None, ""),
        ("csv_monitor.output_path", "logs", None, ""),
    ],
)
def test_deepspeeds_own_schema_decides(key: str, value: Value, code: str | None, said: str) -> None:
    found = complaints("deepspeed", **{key: value})
    assert [each.code for each in found] == ([code] if code else [])
    assert all(said in each.message for each in found)


@pytest.mark.parametrize(
    ("key", "value", "code", "said"),
    [
        ("optimizer.lr", 1e-3, "PAR330", "the layout decides"),
        ("activation_checkpoint.mode", "full", "PAR330", "the layout decides"),
        ("parallelism.pipeline_parallel_schedule_csv", "x.csv", "PAR330", "the layout decides"),
        ("compile.enable", True, "PAR395", "would not be priced"),
        ("optimizer.epsilon", 1e-8, "PAR365", "has no setting"),
        ("optimizer.eps", "1e-8", "PAR393", "takes a number, not in quotes"),
        ("comm.trace_buf_size", "int", "PAR393", "takes a whole number"),
        ("checkpoint.keep_latest_k", 1, "PAR393", "takes 0 or a number above 1"),
        ("validation.steps", 0, "PAR393", "takes -1 or a number above 0"),
        ("checkpoint.last_save_in_hf", True, "PAR312", "exclude each other"),
        ("optimizer.eps", 1, None, ""),
    ],
)
def test_torchtitans_own_configuration_decides(
    key: str, value: Value, code: str | None, said: str
) -> None:
    found = complaints("torchtitan", **{key: value})
    assert [each.code for each in found] == ([code] if code else [])
    assert all(said in each.message for each in found)


def test_a_misspelled_option_has_a_cure() -> None:
    (found,) = complaints("megatron", **{"num-worker": 4})
    assert found.help == "did you mean `--num-workers`?"


def test_a_section_of_another_release_is_known() -> None:
    (found,) = complaints("deepspeed", **{"elasticity.enabled": True})
    assert found.code == "PAR407" and found.help == "deepspeed 0.15 to 0.18 has it"


def test_an_option_of_another_release_is_known() -> None:
    (found,) = complaints("megatron", **{"moe-extended-tp": True})
    assert found.help == "megatron 0.14 to 0.16 has it"


@pytest.mark.parametrize(
    ("target", "key", "value", "warned"),
    [
        ("megatron", "moe-permute-fusion", True, True),
        ("megatron", "moe-permute-fusion", False, False),
        ("megatron", "log-progress", True, False),
        ("deepspeed", "zero_optimization.reduce_bucket_size", 1_000_000, True),
        ("deepspeed", "wall_clock_breakdown", True, False),
        ("deepspeed", "zero_optimization.offload_optimizer.pin_memory", True, True),
        ("deepspeed", "fp16.loss_scale_window", 500, False),
        ("torchtitan", "compile.backend", "inductor", True),
        ("torchtitan", "comm.init_timeout_seconds", 600, False),
    ],
)
def test_what_no_price_counts_is_said(target: str, key: str, value: Value, warned: bool) -> None:
    options = BACKENDS[target].target.options(extra={key: value})
    found = warnings(BACKENDS[target].target, sample_job(target, options))
    assert ("PAR396" in {each.code for each in found}) is warned
