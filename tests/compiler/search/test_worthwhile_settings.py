"""Settings that a plan says would be faster: each is, when the job says it, and is left to who chose."""

from __future__ import annotations

from itertools import islice

import pytest

from parc.api import plan_targets
from parc.backends import BACKENDS
from parc.compiler import plan
from parc.compiler.plan import Plan, WorthwhileSetting
from parc.compiler.search.worthwhile_settings import WORTHWHILE, worthwhile_settings
from parc.dsl import JobError, loads
from parc.dsl.schema import setting_types
from parc.printing.plan_json import plan_json
from parc.printing.settings_text import worthwhile_lines
from tests.support.drawn_jobs import drawn_jobs
from tests.support.solver_and_sweep import OPTIONS, example

#: Experts whose tokens cross nodes, gradients that do, kernels that PyTorch runs one by one.
JOBS = {
    "experts": "model m from std.qwen3_30b_a3b {}\ncluster c from std.dgx_h100 { nodes = 4 }\n"
    "train { seq_len = 4096; global_batch = 256; steps = 10 }\ntarget megatron { %s }\n",
    "eager": "model m from std.llama3_8b {}\ncluster c from std.dgx_h100 { nodes = 1 }\n"
    "train { seq_len = 8192; global_batch = 64; steps = 10 }\ntarget torchtitan { %s }\n",
    "slow_links": "model m from std.llama2_7b {}\ncluster c from std.cloud_l40s { nodes = 4 }\n"
    "train { seq_len = 4096; global_batch = 256; steps = 10 }\ntarget megatron { %s }\n",
}


def planned(text: str, *said: str) -> Plan:
    job = loads(text, "job.par", said, targets=OPTIONS)
    return plan(job, BACKENDS[job.targets[0].name].target)


def hints(found: Plan) -> tuple[WorthwhileSetting, ...]:
    return worthwhile_settings(found, BACKENDS[found.target].target)


def override(hint: WorthwhileSetting) -> str:
    return f"{'.'.join(hint.path)}={str(hint.value).lower()}"


def holds(text: str, found: Plan) -> int:
    """How many hints a plan has, each compiled with the line that it names: as fast as it says, less what a
    choice gives up."""
    for hint in (known := hints(found)):
        assert hint.gain > WORTHWHILE
        other = planned(text, override(hint))
        gained = found.estimate.step_seconds / other.estimate.step_seconds - 1
        kept = (1 + hint.gain) / (1 + found.job.goal.within) - 1
        assert gained >= kept - 1e-6, override(hint)
    return len(known)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("experts", "target.megatron.dispatcher=deepep"),
        ("eager", "train.compile=true"),
        ("slow_links", "target.megatron.grad_dtype=bf16"),
    ],
)
def test_a_setting_that_is_worth_it_is_named_and_gains_what_it_says(name: str, said: str) -> None:
    text = JOBS[name] % ""
    found = planned(text)
    assert said in [override(hint) for hint in hints(found)]
    assert holds(text, found)


def test_hints_of_drawn_jobs_hold() -> None:
    count = 0
    for drawn in islice(drawn_jobs(seed=40, small=True), 12):
        try:
            count += holds(drawn.text, planned(drawn.text))
        except JobError:
            continue
    assert count >= 3


def test_what_the_job_says_itself_is_left_alone() -> None:
    found = planned(JOBS["experts"] % "dispatcher = alltoall")
    assert "dispatcher" not in [hint.path[-1] for hint in hints(found)]
    opened = planned(JOBS["experts"] % "dispatcher = {alltoall, hybridep}")
    assert "dispatcher" not in [hint.path[-1] for hint in hints(opened)]


@pytest.mark.parametrize(
    ("name", "version"), [("experts", "0.15"), ("experts", "0.19"), ("slow_links", "0.14")]
)
def test_nothing_is_said_that_the_release_or_the_gpu_refuses(name: str, version: str) -> None:
    text, release = JOBS[name] % "", f"target.megatron.version={version}"
    for hint in hints(planned(text, release)):
        assert planned(text, release, override(hint))


def test_a_goal_of_memory_has_no_hints() -> None:
    text = JOBS["eager"] % "" + "goal { minimize memory }\n"
    assert hints(planned(text)) == ()


def test_plan_and_json_tell_what_it_needs() -> None:
    job = loads(JOBS["experts"] % "", "job.par", targets=OPTIONS)
    found = plan_targets(job, fewer=True).plans[0]
    assert found.worthwhile == hints(found)
    text = " ".join(" ".join(worthwhile_lines(found)).split())
    assert "`dispatcher = deepep` in `target megatron`: " in text
    assert "% faster, needs DeepEP installed" in text
    said = plan_json(found)["worthwhile"]
    assert isinstance(said, list) and {"setting", "value", "gain", "needs"} == set(said[0])
    assert plan_targets(job).plans[0].worthwhile == ()


def test_needs_are_of_words_that_the_settings_have() -> None:
    blocks = [type(example("llama3_8b").train), *OPTIONS.values()]
    for known in (each for block in blocks for each in setting_types(block).values()):
        words = ("true", "false") if known.kind == "truth" else known.words
        assert {word for word, _ in known.needs} <= set(words)
        assert known.open or not known.needs
