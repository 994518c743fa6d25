"""Wrong edits of a trainer's YAML with its DeepSpeed config, and of accelerate's, started by a command."""

from __future__ import annotations

from benchmarks.lint.mutations.edits import broken, value
from benchmarks.lint.mutations.mutation import Files, Mutation

RUN, YAML, JSON, ACCELERATE = "run.sh", "train.yaml", "ds.json", "accelerate.yaml"
_YAML = """model_name_or_path: some/model
per_device_train_batch_size: 2
gradient_accumulation_steps: 8
cutoff_len: 2048
learning_rate: 1.0e-5
max_grad_norm: 1.0
bf16: true
fp16: false
"""
_JSON = """{"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 2, "gradient_clipping": 1.0,
"gradient_accumulation_steps": 8, "bf16": {"enabled": true}, "fp16": {"enabled": false}}
"""
_ACCELERATE = """compute_environment: LOCAL_MACHINE
distributed_type: DEEPSPEED
deepspeed_config:
  deepspeed_config_file: ds.json
num_machines: 1
num_processes: 8
machine_rank: 0
"""
JOBS: dict[str, Files] = {
    "torchrun": {
        RUN: "export CUDA_VISIBLE_DEVICES=0,1,2,3\ntorchrun --nproc-per-node 4 train.py train.yaml\n",
        YAML: _YAML + "deepspeed: ds.json\n",
        JSON: _JSON,
    },
    "accelerate": {
        RUN: "accelerate launch --config_file accelerate.yaml train.py --config train.yaml\n",
        YAML: _YAML,
        JSON: _JSON,
        ACCELERATE: _ACCELERATE,
    },
}

TRAINER: tuple[Mutation, ...] = (
    value(YAML, "per_device_train_batch_size: ", ("two", 0, 1.5, 4)),
    value(YAML, "gradient_accumulation_steps: ", ("eight", 0, 4)),
    value(YAML, "cutoff_len: ", ("long", 0)),
    value(YAML, "max_grad_norm: ", (0.5, 2)),
    value(YAML, "fp16: ", ("true",)),
    value(JSON, '"train_micro_batch_size_per_gpu": ', (1, 4)),
    value(JSON, '"gradient_accumulation_steps": ', (1, 4)),
    value(JSON, '"gradient_clipping": ', (0.3, 5)),
    value(JSON, '"stage": ', (4, 7)),
    value(RUN, "--nproc-per-node ", (5, 8)),
    broken(YAML),
)
