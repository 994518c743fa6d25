"""Every model of std that torchtitan claims: emitted, imported again, and the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import parc
from parc.__main__ import main
from parc.backends.launch_files import read_jobs
from parc.backends.torchtitan import BACKEND
from parc.backends.torchtitan.options import Options
from parc.compiler.plan import Layout
from parc.dsl import std_model
from parc.dsl.library import std_entries
from parc.dsl.model import Model
from parc.lint.unexpressed import unexpressed
from parc.reading.facts import Kind, LaunchConfig, Setting
from tests.support.linted import Captured
from tests.support.sample_plans import sample_job, sample_plan, train_of

#: What torchtitan has none of is left out, so that the rest is compared.
PLAIN = {"aux_loss": 0.0, "aux_loss_over": "micro_batch", "mtp_layers": 0, "mtp_weight": 0.1}
STD = [entry.name for entry in std_entries() if entry.kind == "model"]
RELEASES = ("0.2.2", "0.3")
#: Without their groups of experts, which torchtitan scores in another way.
UNGROUPED = {"deepseek_v2": {"router_groups": None, "router_limited_groups": None}}


def asked(name: str) -> Model:
    changed = PLAIN | UNGROUPED.get(name, {}) | {"name": name}
    return std_model(name).model_copy(update=changed)


def claimed(version: str) -> list[str]:
    options = Options.model_validate({"version": version})
    return [
        name
        for name in STD
        if not BACKEND.target.refuses(
            sample_job("torchtitan", options, model=asked(name), train=train_of())
        )
    ]


CLAIMED = [(version, name) for version in RELEASES for name in claimed(version)]
#: Each with what std's models leave at its default.
OTHERS: dict[str, dict[str, Any]] = {
    "unscaled": {"init_std": 0.01, "init_scaled": False},
    "routed": {"experts": 8, "topk": 2, "shared_experts": 1, "router_bias_rate": 0.002},
    "sigmoid": {
        "experts": 16, "topk": 4, "router_score": "sigmoid", "router_norm": False, "router_scale": 2.0,
        "router_groups": 4, "router_limited_groups": 2,
    },
}  # fmt: skip


def comparable(model: Model) -> dict[str, object]:
    """Defaults written out; the width of dense blocks only where there are some."""
    written = {"kv_heads": model.groups, "head_dim": model.head_size, "name": ""}
    if model.mla:
        written["head_dim"] = None
    if model.moe:
        written["expert_ffn"] = model.expert_width
    values = model.model_dump() | written
    if model.moe and not model.dense_layers:
        values.pop("ffn")
    return values


def imported(model: Model, version: str, folder: Path, capsys: Captured) -> Model:
    options = Options.model_validate({"version": version})
    plan = sample_plan(
        "torchtitan",
        options,
        model=model,
        layout=(
            Layout(dp_shard=8, zero=3, microbatches=2) if not model.tied else Layout(dp_replicate=8)
        ),
    )
    for path, text in BACKEND.emit(plan).items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    job = folder / "job.par"
    script = str(folder / "torchtitan" / "launch.sh")
    assert main(["import", script, "--cluster", "std.h100_pod", "-o", str(job)]) == 0
    capsys.readouterr()
    return parc.load(job).model


@pytest.mark.parametrize("version, name", CLAIMED)
def test_imported_model_is_the_emitted_one(
    version: str, name: str, tmp_path: Path, capsys: Captured
) -> None:
    model = asked(name)
    assert comparable(imported(model, version, tmp_path, capsys)) == comparable(model)


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize("change", OTHERS)
def test_every_setting_comes_back(
    version: str, change: str, tmp_path: Path, capsys: Captured
) -> None:
    model = std_model("llama3_8b").model_copy(update=OTHERS[change])
    assert comparable(imported(model, version, tmp_path, capsys)) == comparable(model)


def test_most_of_std_is_claimed() -> None:
    families = {
        "llama3_8b",
        "llama3_1_8b",
        "llama3_2_1b",
        "qwen3_8b",
        "qwen3_30b_a3b",
        "mixtral_8x7b",
    }
    assert families | {"deepseek_v2_lite", "deepseek_v3", "kimi_k2", "gpt_oss_20b"} <= set(
        claimed("0.2.2")
    )
    assert families <= set(claimed("0.3"))


#: Files of other hands: flavors with torchtitan's defaults, and what these mean.
FOREIGN = {
    "llama3": (
        "from torchtitan.models.llama3 import TransformerModelArgs, llama3_args\n"
        'llama3_args["own"] = TransformerModelArgs(dim=2048, n_layers=4, n_heads=16)\n',
        {"rope_scaling": "llama3", "rope_factor": 8.0, "rope_original_positions": 8192, "ffn": 5632},
    ),
    "qwen3": (
        "from torchtitan.models.moe import MoEArgs\n"
        "from torchtitan.models.qwen3 import Qwen3ModelArgs, qwen3_args\n"
        'qwen3_args["own"] = Qwen3ModelArgs(dim=2048, n_layers=4, n_heads=16, n_kv_heads=8,\n'
        "    moe_enabled=True, moe_args=MoEArgs(num_experts=16, top_k=2))\n",
        {"qk_norm": True, "router_score": "sigmoid", "router_norm": False, "shared_experts": 1,
         "router_bias_rate": 0.0, "expert_ffn": 768},
    ),
    "deepseek_v3": (
        "from torchtitan.models.deepseek_v3 import DeepSeekV3ModelArgs, deepseekv3_args\n"
        'deepseekv3_args["own"] = DeepSeekV3ModelArgs(dim=2048, n_layers=4, n_heads=16)\n',
        {"rope_scaling": "none", "router_bias_rate": 0.001, "dense_layers": 1, "kv_lora_rank": 512},
    ),
}  # fmt: skip


@pytest.mark.parametrize("family", FOREIGN)
def test_what_a_file_leaves_out_is_torchtitans_default(
    family: str, tmp_path: Path, capsys: Captured
) -> None:
    """deepseek_v3 scales positions beyond 4,096 tokens alone."""
    module, expected = FOREIGN[family]
    (tmp_path / "own.py").write_text(module)
    (tmp_path / "own.toml").write_text(
        f'[model]\nname = "{family}"\nflavor = "own"\n[training]\nseq_len = 4096\nsteps = 10\n'
        'global_batch_size = 8\n[parallelism]\n[experimental]\ncustom_import = "own"\n'
        "[lr_scheduler]\nwarmup_steps = 1\n"
    )
    (tmp_path / "run.sh").write_text(
        "torchrun --nnodes 1 --nproc-per-node 8 -m torchtitan.train --job.config_file own.toml\n"
    )
    job = tmp_path / "job.par"
    script = str(tmp_path / "run.sh")
    assert main(["import", script, "--cluster", "std.h100_pod", "-o", str(job)]) == 0
    capsys.readouterr()
    model = parc.load(job).model
    assert {name: getattr(model, name) for name in expected} == expected


#: Arguments of a foreign model that no job says, and what importing it loses.
LOST = {
    'attn_mask_type="block_causal", depth_init=False': [
        "Qwen3ModelArgs.attn_mask_type",
        "Qwen3ModelArgs.depth_init",
    ],
    "moe_args=MoEArgs(gate_bias=True, score_before_experts=True)": [
        "MoEArgs.gate_bias",
        "MoEArgs.score_before_experts",
    ],
    'attn_mask_type="causal", attn_type="flex", max_seq_len=9': [],
}


@pytest.mark.parametrize("arguments", LOST)
def test_what_no_job_says_is_listed(arguments: str) -> None:
    module = f'qwen3_args["own"] = Qwen3ModelArgs(dim=64,\n    {arguments})\n'
    flavor = Setting("toml", "model.flavor", ("own",), "own.toml", 1)
    config = LaunchConfig(
        Kind("torchtitan", "toml", "toml"), (), (), (flavor,), "torchtitan", {"own.py": module}
    )
    found = list(BACKEND.reader.unread(config))
    assert [each.name for each in found] == LOST[arguments]
    assert all((each.path, each.line) == ("own.py", 2) for each in found)


@pytest.mark.parametrize("name", claimed("0.2.2"))
def test_nothing_of_parcs_own_files_is_lost(name: str) -> None:
    layout = Layout(dp_replicate=8) if std_model(name).tied else Layout(dp_shard=8, zero=3)
    files = BACKEND.emit(sample_plan("torchtitan", model=asked(name), layout=layout))
    (config,) = read_jobs(files)
    assert "torchtitan/parc_model.py" in config.texts and list(unexpressed(config)) == []
