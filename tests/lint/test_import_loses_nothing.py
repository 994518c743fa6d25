"""`parc import`: each setting of the files is in the job or is listed with its place, and is not both."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

import parc
from parc.__main__ import main
from parc.lint.facts.launched_job import LaunchedJob
from parc.lint.imported import Imported, imported
from parc.lint.run import read_configs
from tests.support.linted import Captured

RUN = "torchrun --nproc-per-node 8 "
SIZES = (
    "--num-layers 8 --hidden-size 512 --num-attention-heads 8 --vocab-size 1024 --seq-length 64 "
)
MEGATRON = (
    f"{RUN}pretrain_gpt.py {SIZES}--micro-batch-size 1 --global-batch-size 64 --train-iters 9"
)
AXOLOTL = """base_model: meta-llama/Llama-3.1-8B
sequence_len: 8192
micro_batch_size: 1
learning_rate: 1e-5
bf16: true
dp_shard_size: 4
fsdp_config:
  reshard_after_forward: true
"""
VERL = (
    "python3 -m verl.trainer.main_ppo actor_rollout_ref.actor.ppo_mini_batch_size=128 "
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 trainer.nnodes=2 trainer.n_gpus_per_node=8 "
    "actor_rollout_ref.actor.optim.lr=1e-6 data.max_prompt_length=1024"
)
FLAGSCALE = """system:
  tensor_model_parallel_size: 2
  pipeline_model_parallel_size: 1
  precision:
    bf16: true
model:
  num_layers: 32
  hidden_size: 4096
  num_attention_heads: 32
  global_batch_size: 64
  vocab_size: 100008
  clip_grad: 1.0
"""
RECIPE = """from megatron.bridge.recipes.qwen import qwen3_8b_sft_config

cfg = qwen3_8b_sft_config()
cfg.model.tensor_model_parallel_size = 2
cfg.train.global_batch_size = 16
cfg.train.train_iters = 500
"""
TOML = """[model]
name = "llama3"
flavor = "8B"
[training]
steps = 10
max_context_length = 8192
num_tokens_per_microbatch_per_dp_rank = 16384
"""
TRAINER = (
    f"{RUN}train.py --deepspeed ds.json --bf16 True --per_device_train_batch_size 2 --max_steps 100 "
    "--weight_decay 0.01 --model_max_length 512 --lr_scheduler_type cosine"
)
ZERO = (
    '{"zero_optimization": {"stage": 2, "round_robin_gradients": true}, "bf16": {"enabled": true}}'
)
FILES: dict[str, tuple[dict[str, str], list[str]]] = {
    "fp32": ({"run.sh": MEGATRON}, ["precision fp32"]),
    "a way of context parallelism": (
        {"run.sh": f"{MEGATRON} --bf16 --context-parallel-size 2 --cp-comm-type a2a"},
        [],
    ),
    "ways of context parallelism by layer": (
        {"run.sh": f"{MEGATRON} --bf16 --context-parallel-size 2 --cp-comm-type a2a p2p"},
        ["--cp-comm-type a2a p2p"],
    ),
    "the way that parc writes": (
        {"run.sh": f"{MEGATRON} --bf16 --context-parallel-size 2 --cp-comm-type p2p"},
        [],
    ),
    "modules of another recomputation": (
        {
            "run.sh": f"{MEGATRON} --bf16 --recompute-granularity selective"
            " --recompute-modules mlp moe layernorm"
        },
        ["--recompute-granularity selective", "--recompute-modules mlp moe layernorm"],
    ),
    "layers in groups": (
        {
            "run.sh": f"{MEGATRON} --bf16 --recompute-granularity full --recompute-method uniform"
            " --recompute-num-layers 2"
        },
        ["--recompute-granularity full", "--recompute-method uniform", "--recompute-num-layers 2"],
    ),
    "a variable that nothing sets": (
        {"run.sh": f"{MEGATRON} --bf16 --lr $LR"},
        ["--lr ?"],
    ),
    "axolotl": (
        {"run.sh": "axolotl train cfg.yaml", "cfg.yaml": AXOLOTL},
        [
            "base_model meta-llama/Llama-3.1-8B", "learning_rate 1e-5", "dp_shard_size 4",
        ],
    ),
    "verl": (
        {"run.sh": VERL},
        ["actor_rollout_ref.actor.optim.lr 1e-6", "data.max_prompt_length 1024"],
    ),
    "FlagScale": (
        {"x.yaml": FLAGSCALE},
        ["system.precision.bf16 True", "model.vocab_size 100008", "model.clip_grad 1.0"],
    ),
    "Megatron-Bridge": ({"recipe.py": RECIPE}, ["train.train_iters 500"]),
    "torchtitan of a later release": (
        {"x.toml": TOML},
        [
            "training.max_context_length 8192",
            "training.num_tokens_per_microbatch_per_dp_rank 16384",
        ],
    ),
    "a trainer's arguments": (
        {"run.sh": TRAINER, "ds.json": ZERO},
        [
            "zero_optimization.round_robin_gradients True", "--max_steps 100",
            "--lr_scheduler_type cosine",
        ],
    ),
}  # fmt: skip


def of(texts: Mapping[str, str]) -> Imported:
    (config,) = (each for each in read_configs(texts, {}) if each.facts)
    return imported(LaunchedJob(config))


@pytest.mark.parametrize("texts, lost", FILES.values(), ids=FILES)
def test_what_a_job_does_not_say_is_listed(texts: dict[str, str], lost: list[str]) -> None:
    found = of(texts)
    told = [" ".join([each.name, *("?" if not isinstance(v, bool | int | float | str) else str(v)
            for v in each.values)]) for each in found.lost]  # fmt: skip
    assert told == lost
    for each in found.lost:
        assert each.path in texts and f"#   {each.path}:{each.line}  {each.name}" in found.text


def test_what_is_listed_is_not_in_the_job() -> None:
    text = of(FILES["a trainer's arguments"][0]).text
    settings = dict(re.findall(r"^  (?:require )?(\w+) +==? (\S+)$", text, re.MULTILINE))
    assert settings["precision"] == "bf16" and settings["weight_decay"] == "0.01"
    assert settings["micro_batch"] == "2" and settings["zero"] == "2"
    for name in ("axolotl", "FlagScale", "torchtitan of a later release"):
        assert "learning_rate" not in of(FILES[name][0]).text.split("# What the files say")[0]
    assert "seq_len = ..." in of(FILES["torchtitan of a later release"][0]).text
    assert "require recompute" not in of(FILES["modules of another recomputation"][0]).text
    assert "require recompute" not in of(FILES["layers in groups"][0]).text


def test_some_layers_recomputed_in_full() -> None:
    block = "--bf16 --recompute-granularity full --recompute-method block --recompute-num-layers 3"
    found = of({"run.sh": f"{MEGATRON} {block}"})
    assert not found.lost and "require recompute_layers == 3" in found.text


def test_no_folder_for_checkpoints(capsys: Captured) -> None:
    Path("run.sh").write_text(f"{RUN}train.py --deepspeed ds.json\n")
    Path("ds.json").write_text('{"bf16": {"enabled": true}, "zero_optimization": {"stage": 2}}')
    assert main(["import", "run.sh", "--cluster", "std.dgx_h100", "-o", "job.par"]) == 0
    text = Path("job.par").read_text()
    assert re.search("  save +?= none\n", text)
    text = text.replace("model run {", "model run from std.llama3_8b {").replace(
        "# steps = ...", "steps = 9"
    )
    text = text.replace("# seq_len = ...", "seq_len = 64").replace(
        "# global_batch = ...", "global_batch = 64"
    )
    Path("job.par").write_text(text)
    assert parc.load("job.par").targets[0].options.save is None
    capsys.readouterr()


def test_strict_fails_on_any(capsys: Captured) -> None:
    for name, (texts, lost) in FILES.items():
        for path, text in texts.items():
            Path(path).write_text(text)
        assert main(["import", next(iter(texts)), "--strict"]) == (1 if lost else 0), name
    capsys.readouterr()
