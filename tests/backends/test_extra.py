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
        ("mscale", True, "PAR373", "takes a number, not `true`"),
        ("log-progress", "yes", "PAR373", "takes no value: write `true`"),
        ("moe-layer-freq", "every second", "PAR373", "takes a whole number, or text as"),
        ("iterations-to-skip", "1 -x", "PAR373", "begins with a dash"),
        ("tensor-model-parallel-size", 2, "PAR330", "the layout decides"),
        ("num-experts", 8, "PAR330", "the job or the layout decides"),
        ("fp8_format", "hybrid", "PAR330", "the job or the layout decides"),
        ("recompute_granularity", "full", "PAR330", "the layout decides"),
        ("num-layers-per-virtual-pipeline-stage", 2, "PAR330", "the layout decides"),
        ("manual-gc-interval", 10, None, ""),
        ("mscale", 0.707, None, ""),
        ("num-workers", 4.0, None, ""),
        ("moe-layer-freq", SCHEDULE, None, ""),
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
        ("grad_clip", 1.0, "PAR407", "reads no key `grad_clip`"),
        ("zero_optimization.stage.x", 1, "PAR403", "`zero_optimization.stage` of DeepSpeed"),
        ("zero_optimization.contiguous_gradient", True, "PAR403", "has no key"),
        ("zero_optimization.reduce_bucket_size", "large", "PAR416", "takes a whole number"),
        ("zero_optimization.reduce_bucket_size", -1, "PAR416", "no negative number"),
        ("wall_clock_breakdown", "true", "PAR416", "takes true or false"),
        ("flops_profiler", True, "PAR416", "takes a table"),
        ("checkpoint.tag_validation", "Sometimes", "PAR416", "takes one of Ignore"),
        ("bf16.enabled", False, "PAR330", "the layout decides"),
        ("zero_optimization.reduce_bucket_size", 5e8, None, ""),
        ("flops_profiler.enabled", True, None, ""),
        ("csv_monitor.output_path", "logs", None, ""),
    ],
)
def test_deepspeeds_own_schema_decides(key: str, value: Value, code: str | None, said: str) -> None:
    found = complaints("deepspeed", **{key: value})
    assert [each.code for each in found] == ([code] if code else [])
    assert all(said in each.message for each in found)


def test_a_misspelled_option_has_a_cure() -> None:
    (found,) = complaints("megatron", **{"num-worker": 4})
    assert found.help == "did you mean `--num-workers`?"


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
        ("torchtitan", "compile.backend", "inductor", True),
        ("torchtitan", "comm.init_timeout_seconds", 600, False),
    ],
)
def test_what_no_price_counts_is_said(target: str, key: str, value: Value, warned: bool) -> None:
    options = BACKENDS[target].target.options(extra={key: value})
    found = warnings(BACKENDS[target].target, sample_job(target, options))
    assert ("PAR396" in {each.code for each in found}) is warned
