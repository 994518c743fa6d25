"""Failures of public threads, written anew: each is found at its level, and its cure is clean."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.linted import Captured, findings

SCRIPT = "#!/bin/bash\n"
ACCELERATE = (
    "distributed_type: {}\nnum_machines: {}\nnum_processes: {}\nmachine_rank: 0\n"
    "main_process_ip: node1\nmain_process_port: 29500\nmixed_precision: bf16\n"
)
LAUNCH = f"{SCRIPT}accelerate launch --config_file a.yaml train.py {{}}\n"
BATCH = (
    SCRIPT + "#SBATCH --nodes=4\n#SBATCH --ntasks-per-node={}\n#SBATCH --gpus-per-node=8\n"
    "#SBATCH --cpus-per-task=8\n#SBATCH --time=04:00:00\n"
    "export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK\n"
    'export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)\n'
)
NODES = (
    "torchrun --nnodes 4 --nproc_per_node 8 --node_rank {} --master_addr $MASTER_ADDR "
    "--master_port 29500 train.py"
)
MEETING = (
    "torchrun --nnodes 4 --nproc_per_node 8 --rdzv_backend c10d --rdzv_id 7 "
    "--rdzv_endpoint {}:29500 train.py"
)
GROUPS = (
    "model_name_or_path: Qwen/Qwen2.5-1.5B\ndataset_name: trl-lib/tldr\noutput_dir: out\n"
    "per_device_train_batch_size: 1\ngradient_accumulation_steps: 4\nnum_generations: {}\n"
)
FACTORY = (
    "model_name_or_path: Qwen/Qwen3-4B\nstage: sft\ndo_train: true\nfinetuning_type: lora\n"
    "dataset: alpaca_en_demo\ntemplate: qwen3\noutput_dir: saves\nval_size: 0.1\n"
    "per_device_train_batch_size: 2\nload_best_model_at_end: true\n"
)
AXOLOTL = (
    "base_model: meta-llama/Llama-3.1-8B\ndatasets:\n  - path: tatsu-lab/alpaca\n    type: alpaca\n"
    "micro_batch_size: 1\ngradient_accumulation_steps: 4\nnum_epochs: 1\nlearning_rate: 2e-5\n"
    "bf16: true\noutput_dir: out\n"
)
HELD_OUT = "test_datasets:\n  - path: tatsu-lab/alpaca\n    split: test\n    type: alpaca\n"
ZERO = (
    '{"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", '
    '"gradient_accumulation_steps": "auto", "zero_optimization": {"stage": 2}'
)
SCHEDULE = (
    ', "optimizer": {{"type": "AdamW", "params": {{"lr": "auto"}}}}, '
    '"scheduler": {{"type": "WarmupDecayLR", "params": {{"total_num_steps": {}, '
    '"warmup_num_steps": {}}}}}}}'
)
STEPS = (
    f"{SCRIPT}deepspeed --num_gpus 8 train.py --deepspeed z.json --output_dir out --learning_rate 2e-5 "
    "--per_device_train_batch_size 2 --lr_scheduler_type linear --max_steps 260 --warmup_steps 20\n"
)
POD = """    {}:
      replicas: {}
      template:
        spec:
          containers:
            - name: pytorch
              command: ["sh", "-c", "{}"]
              resources: {{limits: {{nvidia.com/gpu: 8}}}}
"""
JOB = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nspec:\n  pytorchReplicaSpecs:\n"
WRAPPED = "fsdp_config:\n  fsdp_transformer_layer_cls_to_wrap: "
EXPERTS = (
    f"{SCRIPT}export CUDA_DEVICE_MAX_CONNECTIONS=1\ntorchrun --nproc_per_node 8 pretrain_gpt.py "
    "--expert-model-parallel-size 8 --num-layers 16 --hidden-size 2048 --num-attention-heads 16 "
    "--seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 256 "
    "--train-iters 10 --lr 1e-4 --bf16 --mock-data --tokenizer-type NullTokenizer --vocab-size 50000 "
    "--num-experts 64 --moe-router-topk 6 --moe-expert-capacity-factor 1.5 "
    "--moe-token-dispatcher-type "
)


def _pods(command: str) -> dict[str, str]:
    return {"job.yaml": JOB + POD.format("Master", 1, command) + POD.format("Worker", 2, command)}


def _groups(ranks: int, of: int) -> dict[str, str]:
    run = f"{SCRIPT}trl grpo --config c.yaml --accelerate_config a.yaml\n"
    kind = ACCELERATE.format("MULTI_GPU", 1, ranks)
    return {"a.yaml": kind, "c.yaml": GROUPS.format(of), "a.sh": run}


def _factory(more: str) -> dict[str, str]:
    return {"a.sh": f"{SCRIPT}llamafactory-cli train c.yaml\n", "c.yaml": FACTORY + more}


def _axolotl(more: str) -> dict[str, str]:
    return {
        "a.sh": f"{SCRIPT}axolotl train c.yaml\n",
        "c.yaml": AXOLOTL + more,
        "z.json": ZERO + "}",
    }


def _pod(nodes: int, rank: str) -> str:
    meeting = "--master_addr=$MASTER_ADDR --master_port=$MASTER_PORT"
    return f"torchrun --nnodes={nodes} --nproc_per_node=8 --node_rank={rank} {meeting} train.py"


def _wrapped(layer: str) -> dict[str, str]:
    arguments = "--model_name_or_path meta-llama/Llama-3.1-8B --output_dir o --learning_rate 1e-5"
    kind = ACCELERATE.format("FSDP", 1, 8)
    return {"a.yaml": f"{kind}{WRAPPED}{layer}\n", "a.sh": LAUNCH.format(arguments)}


def _machines(processes: int) -> dict[str, str]:
    launch = (
        f"accelerate launch --num_machines 4 --num_processes {processes} "
        "--machine_rank \\$SLURM_NODEID --main_process_ip $MASTER_ADDR --main_process_port 29500 t.py"
    )
    return {"a.sbatch": f'{BATCH.format(1)}srun bash -c "{launch}"\n'}


#: Thread -> code, level, the files that failed, and their cure.
CASES: dict[str, tuple[str, str, dict[str, str], dict[str, str]]] = {
    "huggingface/accelerate#2818": (
        "PAR663", "error",
        {"a.yaml": ACCELERATE.format("MULTI_GPU", 2, 1), "a.sh": LAUNCH.format("")},
        {"a.yaml": ACCELERATE.format("MULTI_GPU", 2, 16), "a.sh": LAUNCH.format("")},
    ),
    "huggingface/accelerate#2521": ("PAR601", "warning", _machines(8), _machines(32)),
    "NVIDIA/Megatron-LM#1371": (
        "PAR602", "error",
        {"a.sbatch": BATCH.format(8) + f"srun bash -c '{NODES.format('$SLURM_PROCID')}'\n"},
        {"a.sbatch": BATCH.format(1) + f"srun bash -c '{NODES.format('$SLURM_NODEID')}'\n"},
    ),
    "AMDResearch/hpcfund#47": (
        "PAR607", "error",
        {"a.sbatch": BATCH.format(1) + f"srun {NODES.format('$SLURM_PROCID')}\n"},
        {"a.sbatch": BATCH.format(1) + f"srun bash -c '{NODES.format('$SLURM_PROCID')}'\n"},
    ),
    "NVIDIA/nvidia-resiliency-ext#142, a host of each node": (
        "PAR604", "error",
        {"a.sbatch": BATCH.format(1) + f"srun bash -c '{MEETING.format('$(hostname)')}'\n"},
        {"a.sbatch": BATCH.format(1) + f"srun {MEETING.format('$(hostname)')}\n"},
    ),
    "pytorch/pytorch#76069": (
        "PAR604", "error",
        {"a.sbatch": BATCH.format(1) + f"srun {MEETING.format('localhost')}\n"},
        {"a.sbatch": BATCH.format(1) + f"srun {MEETING.format('$MASTER_ADDR')}\n"},
    ),
    "kubeflow/trainer#1713": (
        "PAR667", "error", _pods(_pod(3, "0")), _pods(_pod(3, "$RANK")),
    ),
    "pods beyond the nodes": ("PAR471", "error", _pods(_pod(2, "$RANK")), _pods(_pod(3, "$RANK"))),
    "huggingface/open-r1#249": ("PAR209", "error", _groups(7, 8), _groups(7, 7)),
    "modelscope/ms-swift#3980, of TRL": ("PAR209", "error", _groups(4, 1), _groups(4, 4)),
    "hiyouga/LlamaFactory#8133": (
        "PAR331", "error",
        _factory("save_steps: 100\n"),
        _factory("save_steps: 100\neval_strategy: steps\neval_steps: 100\n"),
    ),
    "huggingface/transformers#12786": (
        "PAR331", "error",
        _factory("save_steps: 500\neval_strategy: steps\neval_steps: 200\n"),
        _factory("save_steps: 400\neval_strategy: steps\neval_steps: 200\n"),
    ),
    "huggingface/transformers#29348": (
        "PAR207", "error",
        {"z.json": ZERO + SCHEDULE.format(0, 20), "a.sh": STEPS},
        {"z.json": ZERO + SCHEDULE.format('"auto"', '"auto"'), "a.sh": STEPS},
    ),
    "a warm-up of other steps": (
        "PAR207", "error",
        {"z.json": ZERO + SCHEDULE.format(260, 100), "a.sh": STEPS},
        {"z.json": ZERO + SCHEDULE.format(260, 20), "a.sh": STEPS},
    ),
    "huggingface/accelerate#1943": (
        "PAR463", "error", _wrapped("GPT2Block"), _wrapped("LlamaDecoderLayer"),
    ),
    "axolotl-ai-cloud/axolotl#1388": (
        "PAR462", "error",
        _axolotl("deepspeed: z.json\nfsdp:\n  - full_shard\n  - auto_wrap\n"),
        _axolotl("deepspeed: z.json\n"),
    ),
    "axolotl-ai-cloud/axolotl#1682": (
        "PAR462", "error",
        _axolotl(f"{HELD_OUT}val_set_size: 0.05\n"),
        _axolotl(f"{HELD_OUT}val_set_size: 0\n"),
    ),
    "axolotl-ai-cloud/axolotl#3264": (
        "PAR462", "error",
        _axolotl("deepspeed: z.json\noptimizer: muon\n"),
        _axolotl("deepspeed: z.json\noptimizer: adamw_torch\n"),
    ),
    "evaluation of nothing": (
        "PAR462", "error",
        _axolotl("val_set_size: 0\neval_steps: 50\n"), _axolotl("val_set_size: 0.1\neval_steps: 50\n"),
    ),
    "saved by epochs, at steps": (
        "PAR462", "error",
        _axolotl("save_strategy: epoch\nsave_steps: 50\n"), _axolotl("save_strategy: epoch\n"),
    ),
    "tables of packed samples": (
        "PAR462", "error",
        _axolotl("sample_packing: true\neval_table_size: 5\n"),
        _axolotl("sample_packing: true\neval_table_size: 5\neval_sample_packing: false\n"),
    ),
    "an adapter without its bits": (
        "PAR462", "error",
        _axolotl("adapter: qlora\nlora_r: 8\n"),
        _axolotl("adapter: qlora\nlora_r: 8\nload_in_4bit: true\n"),
    ),
    "a stream without its steps": (
        "PAR462", "error",
        _axolotl("pretraining_dataset: a/b\n"), _axolotl("pretraining_dataset: a/b\nmax_steps: 9\n"),
    ),
    "NVIDIA/Megatron-LM#1277": (
        "PAR303", "info",
        {"a.sh": f"{EXPERTS}allgather\n"}, {"a.sh": f"{EXPERTS}alltoall\n"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("thread", CASES)
def test_a_failure_is_found_and_its_cure_is_clean(
    thread: str, capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "alone").mkdir()
    monkeypatch.chdir(tmp_path / "alone")
    code, level, bad, good = CASES[thread]
    for name, text in bad.items():
        Path(name).write_text(text)
    said = {each["code"]: each["severity"] for each in findings(capsys, ".")}
    assert said.pop(code, None) == level
    assert "error" not in said.values()
    for name, text in good.items():
        Path(name).write_text(text)
    assert [each["code"] for each in findings(capsys, ".") if each["severity"] != "info"] == []


def test_the_release_that_has_the_rule_stops(capsys: Captured) -> None:
    Path("a.sh").write_text(f"{EXPERTS}allgather\n")
    for release, level in (("0.9", "error"), ("0.14", None)):
        named = f"megatron={release}"
        said = {
            each["code"]: each["severity"]
            for each in findings(capsys, "--framework-version", named, ".")
        }
        assert said.get("PAR303") == level
