"""A set of values leaves a setting to the search: what is kept of it, and the jobs that it stands for."""

from __future__ import annotations

import pytest

from parc.backends import BACKENDS, OPTIONS
from parc.backends.stack_facts import Said
from parc.dsl import JobError, loads
from parc.dsl.job import Job, Train
from parc.dsl.open_settings import settled
from parc.dsl.schema import setting_types

JOB = """model from std.llama2_7b {{}}
cluster from std.dgx_h100 {{ nodes = 1 }}
train {{ seq_len = 4096; global_batch = 64; steps = 1000; compile = {compile} }}
target megatron {{ grad_dtype = {dtype} }}
target torchtitan {{ tp_overlap = {{false, true}} }}
{stage}
"""


def job(compile: str = "false", dtype: str = "fp32", stage: str = "", *changes: str) -> Job:
    text = JOB.format(compile=compile, dtype=dtype, stage=stage)
    return loads(text, "job.par", changes, OPTIONS)


def test_the_job_has_the_preferred_values_and_remembers_all() -> None:
    found = job("{true, false}", "{bf16, fp32}")
    assert found.train.compile is True and found.options("megatron").grad_dtype == "bf16"
    assert found.open == {
        ("train", "compile"): (True, False),
        ("target", "megatron", "grad_dtype"): ("bf16", "fp32"),
        ("target", "torchtitan", "tp_overlap"): (False, True),
    }


def test_choices_depart_from_ever_more_preferred_values() -> None:
    found = job("{false, true}", "{fp32, bf16}")
    choices = settled(found, "megatron")
    assert [said for said, _ in choices] == [
        {"compile": False, "grad_dtype": "fp32"},
        {"compile": False, "grad_dtype": "bf16"},
        {"compile": True, "grad_dtype": "fp32"},
        {"compile": True, "grad_dtype": "bf16"},
    ]
    for said, each in choices:
        assert each.train.compile is said["compile"]
        assert each.options("megatron").grad_dtype == said["grad_dtype"]
        assert each.span("target", "megatron", "grad_dtype") is not None


def test_other_targets_settings_are_none_of_a_targets_choices() -> None:
    found = job()
    assert [said for said, _ in settled(found, "megatron")] == [{}]
    assert settled(found, "megatron")[0][1] is found
    assert len(settled(found, "torchtitan")) == 2


def test_a_set_of_one_value_is_that_value() -> None:
    found = job("{true}", "{bf16}")
    assert found.train.compile is True and list(found.open) == [
        ("target", "torchtitan", "tp_overlap")
    ]


def test_a_stage_has_its_own() -> None:
    stage = "stage a { steps = 10 }\nstage b { steps = 10; compile = {true, false} }"
    first, second = job("{false, true}", "fp32", stage).stages
    assert first.open["train", "compile"] == (False, True)
    assert second.open["train", "compile"] == (True, False)


def test_set_leaves_a_setting_open_and_closes_it() -> None:
    opened = job("false", "fp32", "", "target.megatron.grad_dtype={fp32, bf16}")
    assert opened.open["target", "megatron", "grad_dtype"] == ("fp32", "bf16")
    closed = job("{false, true}", "fp32", "", "train.compile=true")
    assert ("train", "compile") not in closed.open and closed.train.compile


def test_what_is_wrong_in_a_set_is_told_at_its_place() -> None:
    with pytest.raises(JobError) as caught:
        job("{false, maybe}", "{fp32, fp64}")
    places = {each.span.text: each.code for each in caught.value.diagnostics if each.span}
    assert places == {"maybe": "PAR014", "fp64": "PAR022"}


def says(target: str) -> bool:
    return any(isinstance(fact, Said) for fact in BACKENDS[target].stack.values())


@pytest.mark.parametrize("target", [*filter(says, BACKENDS)])
def test_priced_facts_of_the_stack_may_be_left_open_and_others_not(target: str) -> None:
    kinds = setting_types(BACKENDS[target].target.options) | {
        f"train.{key}": kind for key, kind in setting_types(Train).items()
    }
    said = [fact for fact in BACKENDS[target].stack.values() if isinstance(fact, Said)]
    assert said
    for fact in said:
        assert kinds[fact.setting].open == fact.priced, fact.setting
