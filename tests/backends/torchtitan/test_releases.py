"""What is written for each release of torchtitan, what it costs there, and what is refused for it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import parc
from parc.__main__ import main
from parc.backends.released_options import released_options, releases
from parc.backends.torchtitan import BACKEND
from parc.backends.torchtitan.options import Options, options_of
from parc.backends.torchtitan.releases import RELEASES
from parc.compiler import estimate
from parc.compiler.plan import Layout, Plan
from parc.compiler.rules.validity import problems
from parc.compiler.target import holds
from parc.dsl import std_gpu, std_model
from parc.dsl.hardware import Gpu
from parc.dsl.job import Job
from parc.dsl.model import Model
from parc.dsl.settings import Data
from tests.support import sample_plans
from tests.support.linted import Captured
from tests.support.sample_plans import LLAMA3_8B, QWEN3_8B, sample_job, sample_plan, train_of

TOML = tuple(version for version, each in RELEASES.items() if not each.python)
LATENT = std_model("deepseek_v3").model_copy(update={"mtp_layers": 0, "aux_loss": 0.0})
UNGROUPED = LATENT.model_copy(update={"router_groups": None, "router_limited_groups": None})
GPT_OSS = std_model("gpt_oss_20b").model_copy(update={"aux_loss": 0.0})
QWEN3_MOE = std_model("qwen3_30b_a3b").model_copy(update={"aux_loss": 0.0})
PIPELINE = Layout(pp=2, dp_shard=4, zero=1, microbatches=8)
DATA = {"blend": Data(parts=(("c4", 0.5), ("/data/a.jsonl", 0.5))), "synthetic": Data()}


def plan_for(version: Any, model: Model = LLAMA3_8B, **more: Any) -> Plan:
    options = Options(version=version, **more.pop("options", {}))
    layout = more.pop("layout", Layout(dp_shard=8, zero=3))
    return sample_plan("torchtitan", options, model=model, layout=layout, **more)


def settings_of(plan: Plan) -> dict[str, Any]:
    return tomllib.loads(BACKEND.emit(plan)["torchtitan/train.toml"])


def keys(table: dict[str, Any], path: str = "") -> Iterator[str]:
    for key, value in table.items():
        name = f"{path}{key}"
        yield from keys(value, f"{name}.") if isinstance(value, dict) else (name,)


def test_releases_are_those_whose_options_are_listed() -> None:
    assert list(RELEASES) == list(releases("torchtitan"))
    assert {version: each.name for version, each in RELEASES.items()} == releases("torchtitan")


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("version", TOML)
def test_every_setting_is_one_of_the_release(version: str, data: str) -> None:
    options = {
        "data": DATA[data],
        "validation": DATA[data],
        "tensorboard": "tb",
        "tp_overlap": True,
    }
    train = train_of(compile=True, async_checkpoints=True, collective_timeout=90)
    plan = plan_for(
        version,
        options=options,
        train=train,
        layout=PIPELINE.model_copy(update={"tp": 2, "dp_shard": 2}),
    )
    known = released_options("torchtitan", version)
    written = list(keys(settings_of(plan)))
    assert len(written) > 40 and [name for name in written if name not in known] == []


@pytest.mark.parametrize("version", TOML)
def test_texts_come_from_where_the_release_has_them(version: str) -> None:
    options = {"data": DATA["blend"], "validation": DATA["blend"]}
    text = BACKEND.emit(plan_for(version, options=options))["torchtitan/parc_data.py"]
    first = version == "0.2.0"
    assert ("from torchtitan.datasets.hf_datasets import DATASETS" in text) == first
    assert ("torchtitan.components.validate.build_hf_validation_dataloader = " in text) == first
    assert ("from torchtitan.hf_datasets.text_datasets import DATASETS" in text) != first
    assert ("**asdict(settings.dataloader)" in text) != first


@pytest.mark.parametrize("version", TOML)
def test_version_seed_and_kernel_are_back(version: str, tmp_path: Path, capsys: Captured) -> None:
    plan = plan_for(version, train=train_of(seed=77), options={"attention_kernel": "flex"})
    for path, text in BACKEND.emit(plan).items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    assert ("seed" in settings_of(plan)["training"]) == (version == "0.2.0")
    script, job = tmp_path / "torchtitan" / "launch.sh", tmp_path / "job.par"
    assert main(["lint", str(script)]) == 0
    assert main(["import", str(script), "--cluster", "std.h100_pod", "-o", str(job)]) == 0
    capsys.readouterr()
    found = parc.load(job)
    assert (options_of(found).version, found.train.seed) == (version, 77)
    assert (options_of(found).attention_kernel, options_of(found).extra) == ("flex", {})


def pipeline_of(version: str, model: Model) -> str:
    plan = plan_for(version, model, layout=PIPELINE.model_copy(update={"recompute": 2}))
    return BACKEND.emit(plan).get("torchtitan/parc_pipeline.py", "")


def test_a_pipeline_is_repaired_where_it_has_to_be() -> None:
    """0.2.2 sums losses, 0.2.0 keeps logits, and PyTorch counts tokens for the biases in all of them."""
    plain = {version: pipeline_of(version, LLAMA3_8B) for version in TOML}
    assert "total / tokens" in plain["0.2.2"] and "return_outputs" not in plain["0.2.2"]
    assert "return_outputs=False" in plain["0.2.0"] and "total / tokens" not in plain["0.2.0"]
    assert plain["0.2.1"] == ""
    biased = UNGROUPED.model_copy(update={"router_bias_rate": 0.001})
    assert all("count_from_zero(part)" in pipeline_of(version, biased) for version in TOML)


def test_selective_recomputation_keeps_cudnns_attention() -> None:
    for version in TOML:
        for recompute in (1, 2):
            plan = plan_for(version, layout=Layout(dp_shard=8, zero=3, recompute=recompute))
            text = BACKEND.emit(plan)["torchtitan/parc_model.py"]
            added = (
                "_op_sac_save_list.add(torch.ops.aten._scaled_dot_product_cudnn_attention.default)"
            )
            assert (added in text) == (version == "0.2.0" and recompute == 1)


def test_copied_keys_and_values_are_counted() -> None:
    """In memory, 4 bytes for each of the heads that have none of their own, and on the wire of cp."""
    layout = {"dp_shard": 4, "cp": 2, "zero": 3, "recompute": 0, "micro_batch": 1}
    older, newer = (
        estimate(job_of(version), BACKEND.target, layout) for version in ("0.2.1", "0.2.2")
    )
    copies = LLAMA3_8B.heads - LLAMA3_8B.groups
    bytes_of_layer = 4 * LLAMA3_8B.head_size * copies * train_of().seq_len / 2
    grown = older.stages[0].memory["activations"] - newer.stages[0].memory["activations"]
    assert grown == pytest.approx(LLAMA3_8B.layers * bytes_of_layer, rel=1e-3)
    assert older.time["cp"] > newer.time["cp"]


def job_of(
    version: Any, model: Model = LLAMA3_8B, gpu: Gpu = sample_plans.H100, **train: Any
) -> Job:
    options = train.pop("options", {})
    return sample_job(
        "torchtitan",
        Options(version=version, **options),
        model=model,
        train=train_of(**train),
        gpu=gpu,
    )


TIED = LLAMA3_8B.model_copy(update={"tied": True})
#: What a job asks for: its model, GPU and precision, code of the refusal, and the first release that has it.
LACKING: dict[str, tuple[str, Model, Gpu, str, str, str]] = {
    "sinks": ("0.2.1", GPT_OSS, sample_plans.H100, "bf16", "PAR368", "0.2.2"),
    "groups": ("0.2.0", LATENT, sample_plans.H100, "bf16", "PAR363", "0.2.1"),
    "tied": ("0.2.1", TIED, sample_plans.H100, "bf16", "PAR456", "0.2.2"),
    "mxfp8": ("0.2.1", LLAMA3_8B, std_gpu("mi355x"), "mxfp8", "PAR327", "0.2.2"),
}


@pytest.mark.parametrize("name", LACKING)
def test_what_a_release_lacks_is_refused_with_the_first_that_has_it(name: str) -> None:
    version, model, gpu, precision, code, first = LACKING[name]
    (found,) = BACKEND.target.refuses(job_of(version, model, gpu, precision=precision))
    assert found.code == code and first in f"{found.message} {found.help}"
    assert BACKEND.target.refuses(job_of(first, model, gpu, precision=precision)) == []


#: Rule -> release, model and layout that it refuses there, and the release that lets it through.
RULED: dict[str, tuple[str, Model, dict[str, int], str]] = {
    "context-angles": ("0.2.1", QWEN3_8B, {"cp": 2}, "0.2.2"),
    "expert-world": ("0.2.0", UNGROUPED, {"tp": 1, "cp": 4, "ep": 2, "dp_shard": 4}, "0.2.1"),
    "expert-tp": ("0.2.1", QWEN3_MOE, {"tp": 1, "ep": 8}, "0.2.2"),
    "flex-selective": ("0.2.0", LLAMA3_8B, {"recompute": 1}, "0.2.1"),
}


@pytest.mark.parametrize("name", RULED)
def test_a_layout_that_a_release_cannot_run_is_none_of_its(name: str) -> None:
    version, model, columns, first = RULED[name]
    kernel = {"attention_kernel": "flex"} if name.startswith("flex") else {}
    rule = next(each for each in BACKEND.target.predicates if each.name == name)
    refused, held = (job_of(each, model, options=kernel) for each in (version, first))
    assert not bool(holds(rule, refused, columns)) and bool(holds(rule, held, columns))
    assert rule.message(refused, **columns)[0].islower()


@pytest.mark.parametrize(
    "version, options, said",
    [
        ("0.2.0", {"attention_kernel": "varlen"}, "0.3.0 is the first"),
        (
            "0.2.1",
            {"attention_kernel": "flex", "validation": Data()},
            "0.2.2 is the first that has",
        ),
        ("0.2.0", {"extra": {"debug.deterministic": True}}, "training.deterministic"),
    ],
)
def test_a_setting_that_a_release_lacks_is_an_error(
    version: Any, options: dict[str, Any], said: str
) -> None:
    job = sample_job("torchtitan", Options(version=version, **options))
    (found,) = BACKEND.target.settings(job)
    assert said in f"{found.message} {found.help}"
    assert problems(job, BACKEND.target, Layout(dp_shard=job.cluster.gpus_per_node)) != []
