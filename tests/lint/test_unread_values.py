"""What a job says and its program does not read, or reads otherwise, beside what looks like it and works."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.linted import Captured, findings

TRAINER = (
    "torchrun --nnodes 1 --nproc_per_node 8 train.py --output_dir out --learning_rate 1e-5 "
    "--per_device_train_batch_size 1 "
)
ACCELERATE = TRAINER.replace(
    "torchrun --nnodes 1 --nproc_per_node 8", "accelerate launch --config_file a.yaml"
)
MEGATRON = (
    "torchrun --nnodes 1 --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 "
    "--num-attention-heads 32 --micro-batch-size 1 --global-batch-size 64 --train-iters 9 --lr 1e-4 "
    "--tokenizer-type NullTokenizer "
)
VERL = "python3 -m verl.trainer.main_ppo trainer.n_gpus_per_node=8 trainer.nnodes=1 "
ACTOR = "actor_rollout_ref.actor."
JSON = '{"train_micro_batch_size_per_gpu": "auto", %s "zero_optimization": {"stage": 3}}'
FSDP = (
    "distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n%snum_machines: 1\nnum_processes: 8\n"
)
RECOMPUTES = '{"activation_checkpointing": true}'
SCHEDULE = '"scheduler": {"type": "%s", "params": {}},'
ADAMW = '"optimizer": {"type": "AdamW", "params": {"lr": "auto"}},'
TORCHRUN = "torchrun --nnodes 1 --nproc_per_node 8"
BY_ACCELERATE = "accelerate launch --use_deepspeed --deepspeed_config_file d.json"
MIXTRAL = {
    "model_type": "mixtral", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 512, "num_local_experts": 8,
    "num_experts_per_tok": 2, "rms_norm_eps": 1e-5, "rope_theta": 1e6, "max_position_embeddings": 4096,
    "hidden_act": "silu", "tie_word_embeddings": False, "sliding_window": None,
}  # fmt: skip
AXOLOTL = """base_model: a/b
micro_batch_size: 1
learning_rate: 1e-5
dp_shard_size: {}
context_parallel_size: 2
tensor_parallel_size: {}
"""
RUNS_AXOLOTL = "axolotl train a.yaml --launcher torchrun -- --nproc_per_node 8\n"
EVALUATION = (
    "cfg.validation.eval_global_batch_size = {}\ncfg.validation.eval_micro_batch_size = 4\n"
)
RECIPE = """from megatron.bridge.recipes.llama import llama32_1b_sft_config
cfg = llama32_1b_sft_config()
cfg.model.tensor_model_parallel_size = 1
cfg.model.pipeline_model_parallel_size = 1
cfg.train.micro_batch_size = 2
cfg.train.global_batch_size = 16
"""
LENGTHS = "cfg.dataset.seq_length = {}\ncfg.model.seq_length = {}\n"
PARSER = """import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--data-length", type=int, default=512)
parser.add_argument("--length", type=int, default=8192)
args = parser.parse_args()
"""


def levels(capsys: Captured, code: str, files: dict[str, str]) -> list[object]:
    """The levels at which `parc lint .` says a code of files."""
    for name, text in files.items():
        Path(name).write_text(text)
    return [found["severity"] for found in findings(capsys, ".") if found["code"] == code]


EXCHANGE = (
    "export CUDA_DEVICE_MAX_CONNECTIONS={}\n" + MEGATRON + "--num-experts 8 --bf16 {} "
    "--expert-model-parallel-size 8 --moe-token-dispatcher-type alltoall\n"
)
PODS = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: x}
spec:
  pytorchReplicaSpecs:
"""
REPLICAS = """    %s:
      replicas: %d
      template:
        spec:
          containers:
          - name: pytorch
            image: x
            resources: {limits: {nvidia.com/gpu: 8}}
            command: [torchrun, %s--nproc-per-node=8, train.py]
"""


def pods(workers: int, nodes: str) -> dict[str, str]:
    """The manifest of a job of one master and some workers."""
    groups = REPLICAS % ("Master", 1, nodes) + (
        REPLICAS % ("Worker", workers, nodes) if workers else ""
    )
    return {"job.yaml": PODS + groups}


def python_in_pods(workers: int, gpus: int, arguments: str) -> dict[str, str]:
    """The manifest of a job whose pods start a program by python."""
    (text,) = pods(workers, "").values()
    text = text.replace("torchrun, --nproc-per-node=8, train.py", f"python, train.py{arguments}")
    return {"job.yaml": text.replace("gpu: 8", f"gpu: {gpus}")}


OF_TRAINER = ", --output_dir, o, --learning_rate, 1e-5, --per_device_train_batch_size, '1'"
INDEXED = """apiVersion: batch/v1
kind: Job
metadata: {name: x}
spec:
  parallelism: %d
  completionMode: Indexed
  template:
    spec:
      containers:
      - name: train
        image: x
        resources: {limits: {nvidia.com/gpu: 8}}
        command: [python3, pretrain_gpt.py, --num-layers, '32', --micro-batch-size, '1'%s]
"""


CASES: dict[str, tuple[str, list[object], dict[str, str]]] = {
    "a comma too many for json.load": (
        "PAR807", ["error"], {"a.sh": TRAINER + "--deepspeed d.json\n", "d.json": JSON % "" + "\n// a\n"},
    ),
    "the same for accelerate": (
        "PAR807", ["error"],
        {
            "a.sh": ACCELERATE + "\n", "d.json": '{"zero_optimization": {"stage": 2,}}',
            "a.yaml": "distributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: d.json\n",
        },
    ),
    "DeepSpeed's own loader takes Hjson": (
        "PAR807", [],
        {
            "a.sh": "deepspeed --num_gpus 8 own.py --deepspeed_config d.json\n",
            "d.json": '{"train_batch_size": 8, "zero_optimization": {"stage": 2,}}',
        },
    ),
    "strict JSON": ("PAR807", [], {"a.sh": TRAINER + "--deepspeed d.json\n", "d.json": JSON % ""}),
    "a DeepSpeed config under accelerate's FSDP": (
        "PAR481", ["error"],
        {"a.sh": ACCELERATE + "--deepspeed d.json\n", "d.json": JSON % "", "a.yaml": FSDP % ""},
    ),
    "both options": (
        "PAR481", ["error"],
        {"a.sh": TRAINER + "--deepspeed d.json --fsdp full_shard\n", "d.json": JSON % ""},
    ),
    "FSDP that is off": (
        "PAR481", [], {"a.sh": TRAINER + '--deepspeed d.json --fsdp ""\n', "d.json": JSON % ""},
    ),
    "FSDP alone": ("PAR481", [], {"a.sh": ACCELERATE + "\n", "a.yaml": FSDP % ""}),
    "another schedule": (
        "PAR482", ["warning"],
        {
            "a.sh": TRAINER + "--deepspeed d.json --lr_scheduler_type cosine\n",
            "d.json": JSON % (SCHEDULE % "WarmupDecayLR"),
        },
    ),
    "a schedule of a YAML": (
        "PAR482", ["warning"],
        {
            "a.yaml": "model_name_or_path: a/b\nper_device_train_batch_size: 1\nlearning_rate: 1e-5\n"
            "lr_scheduler_type: cosine\ndeepspeed: d.json\n",
            "d.json": JSON % (SCHEDULE % "WarmupLR"),
        },
    ),
    "the same schedule": (
        "PAR482", [],
        {
            "a.sh": TRAINER + "--deepspeed d.json --lr_scheduler_type linear\n",
            "d.json": JSON % (SCHEDULE % "WarmupDecayLR"),
        },
    ),
    "one schedule": (
        "PAR482", [],
        {"a.sh": TRAINER + "--deepspeed d.json --lr_scheduler_type cosine\n", "d.json": JSON % ""},
    ),
    "an optimizer of DeepSpeed": (
        "PAR482", ["warning"],
        {"a.sh": TRAINER + "--deepspeed d.json --optim adamw_bnb_8bit\n", "d.json": JSON % ADAMW},
    ),
    "the same optimizer": (
        "PAR482", [],
        {"a.sh": TRAINER + "--deepspeed d.json --optim adamw_torch_fused\n", "d.json": JSON % ADAMW},
    ),
    "an optimizer that accelerate hands on": (
        "PAR482", ["warning"],
        {
            "a.sh": TRAINER.replace(TORCHRUN, BY_ACCELERATE) + "--optim lion\n",
            "d.json": JSON % ADAMW,
        },
    ),
    "axolotl's optimizer and schedule": (
        "PAR482", ["warning", "warning"],
        {
            "a.sh": RUNS_AXOLOTL, "d.json": JSON % (ADAMW + SCHEDULE % "WarmupLR"),
            "a.yaml": AXOLOTL.split("dp_")[0] + "deepspeed: d.json\noptimizer: muon\nlr_scheduler: cosine\n",
        },
    ),
    "a YAML that LLaMA-Factory's command names": (
        "PAR482", ["warning"],
        {
            "a.sh": "FORCE_TORCHRUN=1 llamafactory-cli train x.yaml\n", "d.json": JSON % ADAMW,
            "x.yaml": "model_name_or_path: a/b\nper_device_train_batch_size: 1\nlearning_rate: 1e-5\n"
            "optim: adamw_8bit\ndeepspeed: d.json\noutput_dir: o\n",
        },
    ),
    "a second gathering": (
        "PAR483", ["warning"],
        {
            "a.sh": TRAINER + "--gradient_checkpointing --fsdp 'full_shard auto_wrap' --fsdp_config f.json\n",
            "f.json": "{}",
        },
    ),
    "FSDP's own way": (
        "PAR483", [], {"a.sh": TRAINER + "--fsdp full_shard --fsdp_config f.json\n", "f.json": RECOMPUTES},
    ),
    "a file that is not there": (
        "PAR483", [], {"a.sh": TRAINER + "--gradient_checkpointing --fsdp full_shard --fsdp_config f.json\n"},
    ),
    "sharding of gradients alone": (
        "PAR483", [], {"a.sh": TRAINER + "--gradient_checkpointing --fsdp shard_grad_op\n"},
    ),
    "FSDP2 that wraps too much": (
        "PAR483", ["warning"],
        {"a.sh": ACCELERATE + "\n", "a.yaml": FSDP % "  fsdp_activation_checkpointing: true\n"},
    ),
    "FSDP2 that does not": (
        "PAR483", [],
        {"a.sh": ACCELERATE + "\n", "a.yaml": FSDP % "  fsdp_activation_checkpointing: false\n"},
    ),
    "both ways of a release that refuses them": (
        "PAR475", ["error"],
        {
            "a.sh": TRAINER + "--gradient_checkpointing --fsdp full_shard --fsdp_config f.json\n",
            "f.json": RECOMPUTES, "requirements.txt": "transformers==4.45.2\n",
        },
    ),
    "both ways of a release that does not": (
        "PAR475", [],
        {
            "a.sh": TRAINER + "--gradient_checkpointing --fsdp full_shard --fsdp_config f.json\n",
            "f.json": RECOMPUTES, "requirements.txt": "transformers==5.10.4\n",
        },
    ),
    "an offload that fsdp does not read": (
        "PAR484", ["warning"], {"a.sh": VERL + ACTOR + "fsdp_config.offload_policy=True\n"},
    ),
    "a reference that follows its actor": (
        "PAR484", [],
        {"a.sh": VERL + ACTOR + "strategy=fsdp2 actor_rollout_ref.ref.fsdp_config.offload_policy=True\n"},
    ),
    "an offload that is off": (
        "PAR484", [], {"a.sh": VERL + ACTOR + "fsdp_config.offload_policy=False\n"},
    ),
    "a rate beside params": (
        "PAR485", ["error"], {"d.json": JSON % '"optimizer": {"type": "AdamW", "lr": 1e-5},'},
    ),
    "a rate in params": (
        "PAR485", [], {"d.json": JSON % '"optimizer": {"type": "AdamW", "params": {"lr": 1e-5}},'},
    ),
    "a key of a section": (
        "PAR485", ["info"], {"d.json": JSON % '"activation_checkpointing": {"partition_activation": true},'},
    ),
    "keys that are read": (
        "PAR485", [], {"d.json": JSON % '"aio": {"block_size": 1, "thread_count": 2}, "own": {"x": 1},'},
    ),
    "experts under ZeRO 3": (
        "PAR486", ["warning"],
        {
            "a.sh": TRAINER + "--model_name_or_path a/Qwen3-30B-A3B --deepspeed d.json\n",
            "train.py": "import transformers\n",
            "d.json": JSON % "",
        },
    ),
    "experts of a config.json beside the script": (
        "PAR486", ["warning"],
        {
            "a.sh": TRAINER + "--model_name_or_path . --deepspeed d.json --finetuning_type full\n",
            "d.json": JSON % "", "config.json": json.dumps(MIXTRAL),
        },
    ),
    "a name with no experts behind it": (
        "PAR486", [],
        {
            "a.sh": TRAINER + "--model_name_or_path . --deepspeed d.json\n", "d.json": JSON % "",
            "config.json": json.dumps({**MIXTRAL, "model_type": "mistral"}),
        },
    ),
    "leaves by themselves": (
        "PAR486", [],
        {
            "a.sh": TRAINER + "--model_name_or_path a/Qwen3-30B-A3B --deepspeed d.json\n",
            "d.json": JSON % "", "requirements.txt": "deepspeed==0.18.2\n",
        },
    ),
    "leaves by the program": (
        "PAR486", [],
        {
            "a.sh": TRAINER + "--model_name_or_path a/Mixtral-8x7B --deepspeed d.json\n",
            "d.json": JSON % "", "train.py": "set_z3_leaf_modules(model, [Block])\n",
        },
    ),
    "a dense model": (
        "PAR486", [],
        {
            "a.sh": TRAINER + "--model_name_or_path a/DeepSeek-R1-Distill-Llama-8B --deepspeed d.json\n",
            "d.json": JSON % "",
        },
    ),
    "fp32": ("PAR505", ["warning"], {"a.sh": MEGATRON + "\n"}),
    "bf16": ("PAR505", [], {"a.sh": MEGATRON + "--bf16\n"}),
    "perhaps bf16": ("PAR505", [], {"a.sh": MEGATRON + "$(cat extra)\n"}),
    "half of a script": ("PAR505", [], {"a.sh": MEGATRON.replace("--lr 1e-4", "") + "\n"}),
    "degrees of axolotl": (
        "PAR103", ["error"],
        {"a.sh": RUNS_AXOLOTL, "a.yaml": AXOLOTL.format(4, 2)},
    ),
    "degrees that fit": (
        "PAR103", [],
        {"a.sh": RUNS_AXOLOTL, "a.yaml": AXOLOTL.format(2, 2)},
    ),
    "a recipe with two micro-batches": (
        "PAR207", ["error"], {"a.py": RECIPE + "cfg.dataset.micro_batch_size = 1\n"},
    ),
    "a recipe with one": ("PAR207", [], {"a.py": RECIPE + "cfg.dataset.micro_batch_size = 2\n"}),
    "a recipe with two lengths": (
        "PAR207", ["error"], {"a.py": RECIPE + LENGTHS.format(512, 8192)},
    ),
    "a recipe with two defaults of its parser": (
        "PAR207", ["info"],
        {"a.py": PARSER + RECIPE + LENGTHS.format("args.data_length", "args.length")},
    ),
    "an evaluation in parts": (
        "PAR201", ["error"],
        {"a.py": RECIPE + EVALUATION.format(6)},
    ),
    "an evaluation that fits": (
        "PAR201", [],
        {"a.py": RECIPE + EVALUATION.format(8)},
    ),
    "an exchange of experts in one line": (
        "PAR305", ["warning"], {"a.sh": EXCHANGE.format(1, "--overlap-moe-expert-parallel-comm")},
    ),
    "an exchange with lines enough": (
        "PAR305", [], {"a.sh": EXCHANGE.format(32, "--overlap-moe-expert-parallel-comm")},
    ),
    "no exchange": ("PAR305", [], {"a.sh": EXCHANGE.format(1, "")}),
    "pods that train alone": ("PAR471", ["error"], pods(3, "--nnodes=1, ")),
    "pods that the operator counts": ("PAR471", [], pods(3, "")),
    "a process in each pod": ("PAR471", ["error"], python_in_pods(3, 8, OF_TRAINER)),
    "a process for each GPU": ("PAR471", [], python_in_pods(3, 1, OF_TRAINER)),
    "a process in one pod": ("PAR471", [], python_in_pods(0, 8, OF_TRAINER)),
    "a program that nobody knows": ("PAR471", ["info"], python_in_pods(3, 8, "")),
    "a program that starts its ranks": (
        "PAR471", [],
        {**python_in_pods(3, 8, ""), "train.py": "import torch\ntorch.multiprocessing.spawn(f)\n"},
    ),
    "pods that nobody tells of each other": ("PAR471", ["error"], {"job.yaml": INDEXED % (4, "")}),
    "pods that share out their work": (
        "PAR471", [], {"job.yaml": INDEXED % (4, ", --part, $JOB_COMPLETION_INDEX")},
    ),
    "one pod of a Job": ("PAR471", [], {"job.yaml": INDEXED % (1, "")}),
    "one pod": ("PAR471", [], pods(0, "--nnodes=1, ")),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_unread_values(name: str, capsys: Captured) -> None:
    code, expected, files = CASES[name]
    files = {
        path: f"#!/bin/bash\n{text}" if path.endswith(".sh") else text
        for path, text in files.items()
    }
    assert levels(capsys, code, files) == expected
