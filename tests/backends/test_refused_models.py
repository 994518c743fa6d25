"""Models of the standard library on targets that refuse them: the help is a line that clears the refusal."""

from __future__ import annotations

import re

import pytest

from parc import api
from parc.backends import BACKENDS, OPTIONS
from parc.compiler.target import Refusal
from parc.dsl import loads
from parc.dsl.job import Job
from parc.dsl.library import std_entries
from parc.new_job.gpus import asked_gpus
from parc.new_job.models import std_choice
from parc.new_job.write import first_job

MODELS = [entry.name for entry in std_entries() if entry.kind == "model"]
LINE = re.compile(r"`([a-z0-9 ]+) \{ ([^{}]+) \}`: (.+)")
#: Models that no target trains as the library has them, with the settings that `parc init` writes.
CHANGED = {
    "kimi_k2": {"aux_loss": "0"},
    "deepseek_v2_lite": {"aux_loss": "0", "router_bias_rate": "0.001"},
}
#: The smallest of each family.
SMALL = ("gpt_125m", "gpt_1_7b", "llama1_7b", "llama3_2_1b", "mistral_7b", "mixtral_8x7b", "kimi_k2",
         "deepseek_v2_lite", "qwen2_5_0_5b", "qwen3_0_6b", "qwen3_30b_a3b", "gpt_oss_20b")  # fmt: skip


def job_of(name: str, settings: str = "", cluster: str = "std.h100_pod { nodes = 64 }") -> Job:
    return loads(
        f"model from std.{name} {{ {settings} }}\ncluster from {cluster}\n"
        "train { seq_len = 2048; global_batch = 512; steps = 100 }\n"
        + "".join(f"target {each} {{ }}\n" for each in BACKENDS),
        targets=OPTIONS,
    )


def refused(job: Job, target: str) -> list[Refusal]:
    return [each for each in BACKENDS[target].target.refusals if each.asked(job) is not None]


def clearing(name: str, target: str) -> str:
    """The settings of all lines that a target prints of a model, until it refuses nothing with a line."""
    lines: dict[str, str] = {}
    while found := [each for each in refused(job_of(name, "; ".join(lines.values())), target)
                    if each.settings(job_of(name)) or each.line]:  # fmt: skip
        job = job_of(name, "; ".join(lines.values()))
        for each in found:
            assert each.path[0] == "model" and each.settings(job) not in lines.values(), each
            lines[each.code] = each.settings(job)
    return "; ".join(lines.values())


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("target", BACKENDS)
def test_each_refusal_names_its_line_or_who_trains_the_model(name: str, target: str) -> None:
    job = job_of(name)
    for said, refusal in zip(
        BACKENDS[target].target.refuses(job), refused(job, target), strict=True
    ):
        found = LINE.fullmatch(said.help or "")
        if found is None:
            named = re.findall(r"`target (\w+) \{\}`", said.help or "")
            assert named and "no line changes that" in (said.help or ""), said
            ends = [
                BACKENDS[each].target.refuses(job_of(name, clearing(name, each))) for each in named
            ]
            assert [] in ends, said
            continue
        assert found[1] == "model" and len(found[3]) > 20
        changed = job_of(name, found[2])
        assert refusal.asked(changed) is None, said
        assert {each.code for each in refused(changed, target)} < {
            each.code for each in refused(job, target)
        }


@pytest.mark.parametrize("name", MODELS)
def test_a_first_job_has_a_target(name: str) -> None:
    job, text = first_job(std_choice(name), None, None)
    assert job.targets.names and not job.targets.left_out
    assert dict(job.model.settings) == CHANGED.get(name, {})
    for target in job.targets.names:
        assert BACKENDS[target].target.refuses(loads(text, targets=OPTIONS)) == []


@pytest.mark.parametrize("name", SMALL)
def test_a_first_job_is_planned(name: str) -> None:
    _, text = first_job(std_choice(name), None, None)
    job = loads(text, targets=OPTIONS)
    assert api.compile(job, [job.targets[0].name])


def test_a_first_job_says_the_line_of_other_targets() -> None:
    _, text = first_job(std_choice("qwen3_30b_a3b"), asked_gpus("64xH100"), None)
    plain = " ".join(line.lstrip("# ") for line in text.splitlines())
    assert "no target torchtitan: torchtitan has no balancing loss" in plain
    assert "`model { aux_loss = 0; router_bias_rate = 0.001 }` changes that" in plain


@pytest.mark.parametrize("cluster", ["std.tpu_v5p_cube", "std.trn2_node"])
def test_what_no_target_runs_on_is_told_with_what_does(cluster: str) -> None:
    for backend in BACKENDS.values():
        (said,) = backend.target.refuses(job_of("llama3_8b", cluster=f"{cluster} {{ }}"))
        assert said.code == "PAR320"
        line = re.search(r"`cluster from ([^`]+)`", said.help or "")
        assert line and backend.target.refuses(job_of("llama3_8b", cluster=line[1])) == []


def test_entries_that_no_target_runs_on_say_so() -> None:
    for entry in std_entries():
        if entry.name in ("tpu_v5p", "trainium2", "tpu_v5p_cube", "trn2_node"):
            assert "no target emits files" in entry.doc


def test_each_gpu_has_a_target() -> None:
    """A small model on one node of each GPU that targets run on, in the precision that it has."""
    for entry in std_entries():
        if entry.kind == "gpu" and "no target emits" not in entry.doc:
            job, text = first_job(std_choice("gpt_125m"), asked_gpus(entry.name), None)
            loaded = loads(text, targets=OPTIONS)
            assert job.targets.names and loaded.cluster.gpu.rate(loaded.train.precision)


@pytest.mark.parametrize("gpus", ["T4", "8xL4", "4xRTX3090"])
def test_a_first_job_on_small_gpus_is_planned(gpus: str) -> None:
    _, text = first_job(std_choice("gpt_125m"), asked_gpus(gpus), None)
    job = loads(text, targets=OPTIONS)
    assert api.compile(job, [job.targets[0].name])
