"""PAR163: kernels and traffic of a launch file against those of its job, as far as the file decides them."""

from __future__ import annotations

import pytest

from parc.backends.launch_files import read_jobs
from parc.backends.megatron import BACKEND
from parc.backends.megatron.options import Options
from parc.compiler.case import Case
from parc.dsl.job import Job
from parc.lint.facts.job_blocks import described_job
from parc.lint.facts.launched_job import LaunchedJob
from parc.lint.facts.stack import stack_drifts
from tests.support.megatron_plans import plan_of
from tests.support.sample_plans import sample_job

COMMAND = """export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node {gpus} pretrain_gpt.py --num-layers 32 --hidden-size 4096 \\
    --num-attention-heads 32 --seq-length 4096 --global-batch-size 64 --micro-batch-size 1 --bf16 \\
    {options}
"""
OVERLAP = "--overlap-grad-reduce"


def drifts(
    options: str, target: Options | None = None, job: Job | None = None, gpus: int = 8
) -> dict[str, tuple[object, object]]:
    """What the files say and what the job wants, by the setting."""
    (config,) = read_jobs({"run.sh": COMMAND.format(options=options, gpus=gpus)})
    wanted = job or sample_job("megatron", target or Options())
    found = stack_drifts(LaunchedJob(config, wanted), wanted)
    return {drift.setting: (drift.found, drift.wanted) for drift in found}


@pytest.mark.parametrize(
    ("options", "target", "found"),
    [
        (OVERLAP, Options(), {}),
        ("", Options(), {"dp_overlap": (False, True)}),
        (OVERLAP, Options(grad_dtype="bf16"), {"grad_dtype": ("fp32", "bf16")}),
        (OVERLAP, Options(tp_overlap=True), {}),
        (
            f"{OVERLAP} --tensor-model-parallel-size 2 --sequence-parallel",
            Options(tp_overlap=True),
            {"tp_overlap": (False, True)},
        ),
        (f"{OVERLAP} --cuda-graph-impl full_iteration", Options(), {"cuda_graph": (True, False)}),
        (
            f"{OVERLAP} --attention-backend flash --flash-attention-version 3",
            Options(),
            {"attention_kernel": ("fa3", "cudnn")},
        ),
        (f"{OVERLAP} --fp8-format hybrid --fp8-recipe tensorwise", Options(), {}),
    ],
)
def test_what_the_options_decide(
    options: str, target: Options, found: dict[str, tuple[object, object]]
) -> None:
    assert drifts(options, target) == found


def test_a_recipe_is_compared_in_fp8_alone() -> None:
    options = f"{OVERLAP} --fp8-format hybrid --fp8-recipe tensorwise"
    for said, found in (
        (Options(fp8_recipe="delayed"), {"fp8_recipe": ("tensorwise", "delayed")}),
        (Options(fp8_recipe="tensorwise"), {}),
        (Options(), {}),  # what parc takes then depends on the GPU
    ):
        job = sample_job("megatron", said)
        fp8 = job.model_copy(update={"train": job.train.model_copy(update={"precision": "fp8"})})
        assert drifts(options, job=fp8) == found


def test_one_rank_has_nothing_to_overlap() -> None:
    assert drifts("", gpus=1) == {}


def test_unknown_words_may_say_it() -> None:
    assert drifts("$(cat more.txt)") == {}


def test_a_layout_without_a_job_is_priced_with_what_its_files_run() -> None:
    plan = plan_of(options=Options(grad_dtype="bf16", dp_overlap=False))
    (config,) = read_jobs(BACKEND.emit(plan))
    job = described_job(LaunchedJob(config), plan.job.cluster)
    assert job is not None and job.options("megatron").grad_dtype == "bf16"
    traits = Case(job, BACKEND.target).traits
    assert traits.wire.reduce_bytes == 2.0 and not traits.overlap.gradient_reduction


def test_a_job_of_another_framework_says_nothing() -> None:
    assert drifts("", job=sample_job("torchtitan")) == {}


def test_any_value_that_the_job_leaves_open_is_no_drift() -> None:
    wanted = sample_job("megatron", Options(grad_dtype="fp32"))
    path = ("target", "megatron", "grad_dtype")
    opened = wanted.model_copy(update={"open": {path: ("fp32", "bf16")}})
    bf16 = f"{OVERLAP} --grad-reduce-in-bf16"
    assert drifts(bf16, job=wanted) == {"grad_dtype": ("bf16", "fp32")}
    assert drifts(bf16, job=opened) == drifts(OVERLAP, job=opened) == {}
