"""The few lines of a plan that everybody reads, and the command to type next."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from parc import api
from parc.compiler.plan import (
    Doubt,
    FewerNodes,
    Layout,
    Measured,
    Plan,
    Rival,
    WorthwhileSetting,
)
from parc.printing.next_text import planned_lines
from parc.printing.summary_text import LINES, summary_text
from tests.support.command_line import JOB, Parc
from tests.support.sample_plans import sample_estimate
from tests.support.solver_and_sweep import job_of

LONG = Layout(
    tp=8, pp=16, vpp=8, cp=2, ep=4, dp_shard=64, zero=1, micro_batch=1, microbatches=32, recompute=2,
    recompute_layers=3,
)  # fmt: skip
RIVAL = Rival(
    layout=Layout(tp=4, pp=16, cp=4, ep=8, dp_shard=64), chance=0.4, worse=0.01, spread=0.05
)
UNSETTLED = Doubt(chance=0.1, chance_of_split=0.2, regret=0.07, contenders=9, rivals=(RIVAL,))
FASTER = WorthwhileSetting(
    path=("target", "megatron", "dispatcher"), value="deepep", gain=0.12, needs="needs DeepEP"
)


@pytest.fixture(scope="module")
def small() -> Plan:
    job = job_of("maximize mfu\nrequire tp == 2; require pp == 1; require cp == 1")
    return api.plan_targets(job).plans[0]


def lines_of(plan: Plan) -> list[str]:
    """The lines of the plan itself, from what to run on."""
    text = summary_text(api.Planned(plan.job, (plan,))).plain
    return text.partition("\n\n")[2].splitlines()


def full(plan: Plan) -> Plan:
    """The plan with all that may be told, and a layout whose every degree is used."""
    slow = plan.model_copy(update={"estimate": sample_estimate(plan.job, LONG)})
    return slow.model_copy(
        update={
            "settings": {"grad_dtype": "bf16"},
            "doubt": UNSETTLED,
            "measured": Measured(runs=3, expected=0.05, layouts=0, chosen=None, best=None),
            "worthwhile": (FASTER, FASTER, FASTER),
            "fewer": FewerNodes(estimate=plan.estimate),
        }
    )


@pytest.mark.parametrize("width", ["80", "120"])
def test_a_plan_has_eight_lines_however_much_there_is_to_say(
    small: Plan, width: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    lines = lines_of(full(small))
    assert len(lines) <= LINES and all(len(line) <= int(width) for line in lines)
    labels = [line[2:10].strip() for line in lines if line[2] != " "]
    assert labels == ["run", "with", "speed", "memory", "doubt"]


def test_two_settings_that_would_be_faster_stand_where_there_is_room(small: Plan) -> None:
    plan = small.model_copy(update={"worthwhile": (FASTER, FASTER, FASTER), "doubt": None})
    said = "  faster  `dispatcher = deepep` in `target megatron`: 12% faster, needs DeepEP"
    assert lines_of(plan)[-2:] == [said, said]


def test_the_numbers_that_people_compare_stand_first(small: Plan) -> None:
    text = " ".join(" ".join(lines_of(small)).split())
    found, job = small.estimate, small.job
    tokens = job.train.global_batch * job.train.seq_len / found.step_seconds / found.gpus
    assert f" {tokens:,.0f} tokens/s/GPU · " in text
    (reached,) = re.findall(r"([\d,]+) TFLOP/s/GPU", text)
    (peak,) = re.findall(r"of bf16's ([\d,]+) TFLOP/s", text)
    reached, peak = (float(each.replace(",", "")) for each in (reached, peak))
    assert reached / peak == pytest.approx(found.mfu, abs=0.001)
    assert re.search(r"^run megatron: tp 2 · dp \d", text)
    assert re.search(r" a step ±\d+% ", text)
    assert re.search(r"memory [\d.]+ of [\d.]+ GiB on the fullest GPU, (< )?\d+ % risk", text)


@pytest.mark.parametrize(
    ("goal", "word"),
    [("maximize mfu", "fastest"), ("minimize memory", "best"), ("minimize days", "fastest")],
)
def test_a_settled_choice_is_told_with_its_chance_and_loss(
    small: Plan, goal: str, word: str
) -> None:
    settled = UNSETTLED.model_copy(update={"chance_of_split": 0.5, "regret": 0.02})
    job = small.job.model_copy(update={"goal": job_of(goal).goal})
    plan = small.model_copy(update={"doubt": settled, "job": job})
    assert f"  doubt   10 % chance that this is the {word}; expected loss 2.0%" in lines_of(plan)
    assert planned_lines(small.job, [plan], ["megatron"])[1:] == []


def test_a_choice_that_is_not_settled_names_the_rival_and_short_runs(small: Plan) -> None:
    plan = small.model_copy(update={"doubt": UNSETTLED})
    text = " ".join(" ".join(lines_of(plan)).split())
    said = "tp 4 · pp 16 · cp 4 · ep 8 may be better (40 % chance, this split 20 %); expected loss 7.0%"
    assert f"doubt {said}; short runs tell (below)" in text
    _, trials = planned_lines(plan.job, [plan], ["megatron"])
    assert trials.startswith("  or: parc trials ")


def typed(text: str) -> list[str]:
    """The words behind `next: parc` in what a command printed."""
    (line,) = re.findall(r"^next: parc (.*)$", text, re.MULTILINE)
    return shlex.split(line)


MODEL, _, REST = JOB.partition("train")
KUBERNETES = 'launch kubernetes { image = "a:1"; volumes = ["runs:/runs"] }'
SKYPILOT = 'launch skypilot { volumes = ["runs:/runs"] }'
TWO_NODES = MODEL.replace("dgx_h100 {}", "dgx_h100 { nodes = 2 }")
LAUNCHES = {
    "slurm": (MODEL, "launch slurm { time = 1 h }", r"sbatch (out/slurm/megatron\.sbatch)"),
    "hosts": (TWO_NODES, 'launch hosts { hostfile = "hosts" }', r"bash (out/hosts/megatron\.sh)"),
    "kubernetes": (MODEL, KUBERNETES, r"kubectl create -f (out/kubernetes/megatron\.yaml)"),
    "skypilot": (MODEL, SKYPILOT, r"cd out && sky jobs launch (skypilot/megatron\.yaml)"),
    "alone": (MODEL, "", r"bash (out/megatron/pretrain\.sh)"),
    "by hand": (
        TWO_NODES,
        "",
        r"NNODES=2 NODE_RANK=N MASTER_ADDR=NODE0 bash (out/megatron/pretrain\.sh)",
    ),
}


@pytest.mark.parametrize("name", LAUNCHES)
def test_each_command_prints_the_one_to_type_next(run: Parc, name: str) -> None:
    model, launch, start = LAUNCHES[name]
    job = model + "train" + REST.replace("launch slurm { time = 1 h }", launch)
    Path("a job.par").write_text(job.replace('target torchtitan { data = "/data/c4" }', ""))
    planned = run("plan", "a job.par", "--set", "train.global_batch=128")
    assert planned.code == 0
    words = typed(planned.out)
    assert words == ["compile", "a job.par", "-o", "out", "--set", "train.global_batch=128"]
    compiled = run(*words)
    assert compiled.code == 0
    (line,) = re.findall(r"^next(?:, on each node N of 0 to 1)?: (.*)$", compiled.out, re.MULTILINE)
    found = re.fullmatch(start, line)
    assert found and any(Path(folder, found[1]).is_file() for folder in (".", "out"))


def test_a_target_without_a_plan_is_left_out_of_the_command(run: Parc) -> None:
    text = JOB.replace("maximize mfu", "maximize mfu; require vpp == 2; require pp == 2")
    Path("some.par").write_text(text.replace("torchtitan", "deepspeed"))
    planned = run("plan", "some.par")
    assert planned.code == 0 and "warning" in planned.err
    words = typed(planned.out)
    assert words == ["compile", "some.par", "-o", "out", "--target", "megatron"]
    assert run(*words).code == 0


def test_the_whole_of_it_is_an_option_away(run: Parc) -> None:
    short, long = (run("plan", "job.par", *more).out for more in ((), ("-v",)))
    assert len(short.splitlines()) < 16 < len(long.splitlines())
    for label in ("saves", "choice", "closest", "proof", "terms"):
        assert f"\n  {label} " in long and f"\n  {label} " not in short
    terms = " ".join(long.partition("\n  terms ")[2].split())
    assert "buffers: CUDA context, NCCL and fixed buffers of the framework" in terms
    assert "other: the sum of smaller parts" in terms
