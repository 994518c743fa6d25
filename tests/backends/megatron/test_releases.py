"""What is written for older releases of Megatron-LM, and what is refused for them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from parc.backends.megatron import BACKEND
from parc.backends.megatron.options import Options
from parc.backends.megatron.releases import NEEDS, REFUSALS
from parc.backends.released_options import released_options, releases
from parc.compiler.plan import Layout, Plan
from tests.support.sample_plans import LLAMA3_8B, MIXTRAL_8X7B, sample_job, sample_plan, train_of

RELEASES: tuple[Any, ...] = tuple(releases("megatron"))
SCRIPT = "megatron/pretrain.sh"


def script(plan: Plan) -> str:
    return BACKEND.emit(plan)[SCRIPT]


def plan_for(version: Any, **train: Any) -> Plan:
    return sample_plan(
        "megatron",
        Options(version=version),
        model=LLAMA3_8B,
        layout=Layout(tp=2, dp_replicate=4, microbatches=8),
        train=train_of(**train),
    )


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize(
    "train", [{}, {"async_checkpoints": True}, {"ramp_from": 32, "ramp_tokens": 10**9}]
)
def test_every_option_is_one_of_the_release(version: Any, train: dict[str, Any]) -> None:
    text = script(plan_for(version, **train))
    known = released_options("megatron", version)
    options = re.findall(r"^    (--[a-z0-9-]+)", text.partition("exec torchrun")[0], re.M)
    assert len(options) > 40 and [name for name in options if name not in known] == []


def test_older_spellings_mean_the_same() -> None:
    """A growing batch before 0.18, and the end of documents that its tokenizer adds to the vocabulary."""
    ramp = {"ramp_from": 32, "ramp_tokens": 4096 * 96 * 1000}
    older, newer = script(plan_for("0.17", **ramp)), script(plan_for("0.18", **ramp))
    assert "--rampup-batch-size 32 32 96000 " in older and "--global-batch-size 128" in older
    assert "--step-batch-size-schedule" in newer and "--rampup-batch-size" not in newer
    assert "--vocab-size 128255 " in older and "--vocab-size 128256\n" in newer
    assert "MEGATRON_RELEASE=0.17\n" in older


@pytest.mark.parametrize("version", RELEASES)
def test_deepep_is_asked_for_in_the_words_of_the_release(version: Any) -> None:
    plan = sample_plan(
        "megatron",
        Options(version=version, dispatcher="deepep"),
        model=MIXTRAL_8X7B,
        layout=Layout(ep=8, dp_shard=8, zero=1, microbatches=8),
    )
    said = (
        "--moe-enable-deepep"
        if version in ("0.14", "0.15")
        else "--moe-flex-dispatcher-backend deepep"
    )
    assert f"    {said} " in script(plan) and "--moe-token-dispatcher-type flex" in script(plan)


#: What a job asks for: changes of its model, train and target blocks, and the first release that has it.
ASKED: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any], str]] = {
    "window": ({"window": 512}, {}, {}, "0.15"),
    "attention_sinks": ({"attention_sinks": True}, {}, {}, "0.15"),
    "quick_gelu": ({"activation": "quick_gelu"}, {}, {}, "0.15"),
    "glu_clamp": ({"glu_clamp": 7.0}, {}, {}, "0.15"),
    "glu_offset": ({"glu_offset": 1.0}, {}, {}, "0.15"),
    "optimizer": ({}, {"optimizer": "muon"}, {}, "0.16"),
    "weights": ({}, {"weights": "/models/llama"}, {}, "0.19"),
    "attention_kernel": ({}, {}, {"attention_kernel": "fa2"}, "0.19"),
    "cuda_graph": ({}, {}, {"cuda_graph": True}, "0.18"),
    "precision": ({}, {"precision": "nvfp4"}, {}, "0.15"),
    "dispatcher": ({}, {}, {"dispatcher": "hybridep"}, "0.16"),
}


@pytest.mark.parametrize("name", ASKED)
def test_what_a_release_lacks_is_refused_by_name(name: str) -> None:
    model, train, options, first = ASKED[name]
    for version in RELEASES:
        job = sample_job(
            "megatron",
            Options(version=version, **options),
            model=LLAMA3_8B.model_copy(update=model),
            train=train_of(**train),
        )
        said = [message for refusal in REFUSALS if (message := refusal.asked(job))]
        if RELEASES.index(version) >= RELEASES.index(first):
            assert said == []
        else:
            (message,) = said
            assert f"megatron {version} has no" in message and name in message
            assert f"{first} is the first" in message


def test_every_need_has_a_first_release() -> None:
    assert {need.first for need in NEEDS} <= set(RELEASES) - {RELEASES[0]}
