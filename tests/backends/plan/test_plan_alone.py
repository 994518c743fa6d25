"""`target plan {}`: layouts and prices where no framework is named, and no files."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import parc
from parc import api
from parc.__main__ import main
from parc.backends import BACKENDS, OPTIONS, TARGETS
from parc.compiler.rules.validity import problems
from parc.compiler.target import Target
from parc.dsl import loads
from parc.dsl.diagnostics import JobError
from parc.dsl.job import Job
from parc.dsl.library import std_entries
from parc.new_job.gpus import asked_gpus
from parc.new_job.models import std_choice
from parc.new_job.write import first_job

TARGET: Target = TARGETS["plan"].target
TRAIN = "train { seq_len = 4096; global_batch = 1024; steps = 100 }\n"
JOB = f"""\
model small {{ layers = 12; hidden = 768; heads = 12; ffn = 3072; vocab = 50304 }}
cluster desk from std.trn2_node {{}}
{TRAIN}target plan {{}}
"""
MODELS = [entry.name for entry in std_entries() if entry.kind == "model"]


def job_of(model: str, cluster: str, targets: str = "target plan {}", train: str = TRAIN) -> Job:
    text = f"model from std.{model} {{}}\ncluster from {cluster}\n{train}{targets}\n"
    return loads(text, targets=OPTIONS)


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "job.par"
    path.write_text(JOB)
    return path


@pytest.mark.parametrize("name", MODELS)
def test_it_refuses_no_model_of_the_library(name: str) -> None:
    train = TRAIN.replace("4096", "1024")
    assert TARGET.refuses(job_of(name, "std.h100_pod { nodes = 64 }", train=train)) == []


@pytest.mark.parametrize("name", ["kimi_k2", "deepseek_v2_lite"])
def test_what_no_framework_trains_as_it_stands_is_planned(name: str) -> None:
    named = "\n".join(f"target {each} {{}}" for each in (*BACKENDS, "plan"))
    planned = api.plan_targets(job_of(name, "std.h100_pod { nodes = 64 }", named))
    assert [plan.target for plan in planned.plans] == ["plan"]
    assert planned.plans[0].proof.status == "OPTIMAL"


@pytest.mark.parametrize("cluster", ["std.tpu_v5p_cube {}", "std.trn2_node { nodes = 4 }"])
def test_it_plans_on_accelerators_that_no_framework_runs_on(cluster: str) -> None:
    (plan,) = parc.compile(job_of("llama3_8b", cluster))
    estimate = plan.estimate
    assert 0.2 < estimate.mfu < 0.8 and estimate.memory_bytes <= estimate.ceiling_bytes
    assert "no run of such a software stack was measured" in estimate.familiarity


def test_its_states_are_those_of_mixed_precision() -> None:
    """ZeRO's 16 bytes a parameter (arXiv 1910.02054), and two more for gradients in fp32, divided as its
    figure 1 has it."""
    model = job_of("llama3_8b", "std.dgx_h100 {}")
    states = [TARGET.traits.memory.state(model, zero) for zero in range(4)]
    assert {each.weights + each.gradients + each.optimizer for each in states} == {18.0}
    divided = [
        (each.optimizer_sharded, each.gradients_sharded, each.weights_sharded) for each in states
    ]
    assert divided == [
        (False, False, False), (True, False, False), (True, True, False), (True, True, True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("layout", "code"),
    [
        ({"tp": 5}, "PAR111"),
        ({"tp": 16, "cp": 3, "nodes": 3}, "PAR131"),
        ({"pp": 2, "vpp": 2, "micro_batch": 1024 // 16}, ""),
        ({"pp": 4, "vpp": 2, "micro_batch": 1024 // 4}, "PAR203"),
        ({"pp": 2, "zero": 3, "dp_shard": 8}, "PAR343"),
        ({"zero": 0, "dp_shard": 16}, "PAR306"),
        ({"pp": 2, "zero": 1, "dp_shard": 4}, ""),
    ],
)
def test_it_forbids_what_does_not_divide(layout: dict[str, int], code: str) -> None:
    nodes = layout.get("nodes", 1)
    model = job_of("llama3_8b", f"std.trn2_node {{ nodes = {nodes} }}")
    try:
        api.estimate(model, layout, "plan")
        found = set()
    except JobError as error:
        found = {each.code for each in error.diagnostics}
    assert (code in found) if code else not found


def test_experts_are_divided_evenly() -> None:
    """DeepSeek-V3's 256 experts over 7 x 16 GPUs, and over whole groups of 64."""
    model = job_of("deepseek_v3", "std.trn2_node { nodes = 8 }")
    assert model.model.experts == 256
    with pytest.raises(JobError) as error:
        api.estimate(model, {"ep": 96}, "plan")
    assert "PAR115" in {each.code for each in error.value.diagnostics}
    assert api.estimate(model, {"ep": 64, "pp": 2, "recompute": "full"}, "plan").layout.ep == 64


def test_nothing_is_written_that_could_start(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", str(job), "-o", "out"]) == 0
    assert {path.name for path in Path("out").iterdir()} == {
        "plan.json",
        "report.html",
        "REPORT.md",
    }
    assert "nothing to start" in capsys.readouterr().out
    assert json.loads(Path("out/plan.json").read_text())["plans"][0]["target"] == "plan"
    assert main(["compile", str(job), "-o", "out", "--check"]) == 0


@pytest.mark.parametrize("command", [["trials", "-o", "t"], ["smoke", "--cpu"]])
def test_short_runs_need_a_framework(
    job: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command[0], str(job), *command[1:]]) != 0
    said = capsys.readouterr().err
    assert "PAR087" in said and "target plan has no framework" in said


@pytest.mark.parametrize(
    "command", ["plan", "plan -v", "check", "explain", "report -o r.html", "trace -o t.json"]
)
def test_other_commands_take_it(
    job: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *rest = command.split()
    assert main([name, str(job), *rest]) == 0
    assert not promised(capsys.readouterr().out)


#: A job whose choice is not settled, for which a framework's plan advises short runs.
DOUBTED = f"""\
model from std.kimi_k2 {{}}
cluster from std.h100_pod {{ nodes = 64 }}
{TRAIN}target plan {{}}
"""


def promised(text: str) -> list[str]:
    """What a text has of short runs, files to start and PyTorch's figures on a GPU."""
    return [
        each
        for each in (
            "parc trials",
            "hort runs",
            "nvidia-smi",
            "write its files",
            "Run plan",
            "run     plan",
        )
        if each in text
    ]


def test_nothing_is_promised_that_a_framework_would_do(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither short runs, nor files, nor what PyTorch reserves, in any form of the plan."""
    job.write_text(DOUBTED)
    assert main(["compile", str(job), "-o", "out"]) == main(["plan", str(job), "-v"]) == 0
    said = capsys.readouterr().out
    assert "may be better" in said and "  layout  plan:" in said
    for text in (said, *(Path("out", name).read_text() for name in ("report.html", "REPORT.md"))):
        assert not promised(re.sub(r"(?s)<script.*?</script>", "", text))


def test_frameworks_stand_first(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The framework is what runs, though rules of its own make it slower; the batch script is its own."""
    job.write_text(
        JOB.replace("std.trn2_node {}", "std.dgx_h100 {}").replace("target plan {}", "")
        + "launch slurm {}\ntarget plan {}\ntarget deepspeed { data = synthetic }\n"
    )
    assert main(["compile", str(job), "-o", "out"]) == 0
    out = capsys.readouterr().out
    assert "run     deepspeed:" in out and "next: sbatch out/slurm/deepspeed.sbatch" in out
    assert {path.stem for path in Path("out/slurm").glob("*.sbatch")} == {"deepspeed"}


def test_a_first_job_has_it_where_no_framework_runs() -> None:
    _, text = first_job(std_choice("llama3_8b"), asked_gpus("16xtrainium2"), None)
    assert "target plan {}" in text and "no target megatron" in text and "SLURM" not in text
    assert "target plan" not in first_job(std_choice("llama3_8b"), asked_gpus("8xH100"), None)[1]


def test_its_optimum_breaks_none_of_its_rules() -> None:
    (plan,) = parc.compile(job_of("mixtral_8x7b", "std.dgx_h100 { nodes = 8 }"))
    assert problems(plan.job, TARGET, plan.layout) == []
