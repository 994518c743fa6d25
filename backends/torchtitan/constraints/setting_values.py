"""Values of torchtitan's settings that it takes unchecked, and where releases declare them."""

import re
from math import inf

from ..option_rows import SCHEDULE

#: Section [parallelism], in the order of torchtitan's own message.
DEGREES = (
    "data_parallel_replicate",
    "data_parallel_shard",
    "context_parallel",
    "tensor_parallel",
    "pipeline_parallel",
)

WORDS = {
    "activation_checkpoint.mode": ("selective", "full", "memory_budget", "none"),
    "parallelism.fsdp_reshard_after_forward": ("default", "always", "never"),
    "parallelism.context_parallel_rotate_method": ("allgather", "alltoall"),
    "training.mixed_precision_param": ("bfloat16", "float32"),
    "training.mixed_precision_reduce": ("float32", "bfloat16"),
    "training.dtype": ("bfloat16", "float32"),
    "parallelism.expert_parallel_comm_backend": ("standard", "deepep", "hybridep"),
    "lr_scheduler.decay_type": ("linear", "sqrt", "cosine"),
    "optimizer.implementation": ("for-loop", "foreach", "fused"),
    "optimizer.name": ("Adam", "AdamW"),
    "checkpoint.async_mode": ("disabled", "async", "async_with_pinned_mem"),
    SCHEDULE: (
        "1F1B", "Interleaved1F1B", "GPipe", "LoopedBFS", "InterleavedZeroBubble",
        "PipelineScheduleSingle", "PipelineScheduleMulti", "ZBVZeroBubble", "DualPipeV",
    ),
}  # fmt: skip
WHOLE_NUMBERS = re.compile(
    r"(?:training\.(?:local_batch_size|batch_size|global_batch_size|seq_len|steps)"
    r"|parallelism\.\w+_degree|parallelism\.pipeline_parallel_microbatch_size"
    r"|parallelism\.pipeline_parallel_layers_per_stage|lr_scheduler\.warmup_steps|checkpoint\.interval"
    r"|parallelism\.pipeline_parallel_(?:first|last)_stage_less_layers)"
)
#: Keys that may hold -1 (all that is left) or 0.
SIGNED = {
    "training.global_batch_size": -1,
    "lr_scheduler.warmup_steps": 0,
    "parallelism.pipeline_parallel_first_stage_less_layers": 0,
    "parallelism.pipeline_parallel_last_stage_less_layers": 0,
}

#: What torch's optimizers, the schedule and the garbage collection take: the least number, and the one that
#: it stays below.
NUMBERS: dict[str, tuple[float, float]] = {
    "optimizer.lr": (0, inf),
    "optimizer.eps": (0, inf),
    "optimizer.weight_decay": (0, inf),
    "optimizer.beta1": (0, 1),
    "optimizer.beta2": (0, 1),
    # Only its kind ends the start.
    "lr_scheduler.decay_ratio": (-inf, inf),
    "training.gc_freq": (1, inf),
}
#: Keys whose text is taken apart or looked up: another kind ends the start with an AttributeError.
MODEL, FLAVOR, DATASET = "model.name", "model.flavor", "training.dataset"
CUSTOM_IMPORT = "experimental.custom_import"
TEXTS = (MODEL, FLAVOR, DATASET, CUSTOM_IMPORT, "model.hf_assets_path")
_DEBUG, _FLEX = "debugmodel", "debugmodel_flex_attn"
#: Models of 0.2.0 to 0.2.2 and their flavors; a module of `custom_import` may register more.
FLAVORS = {
    "llama3": (_DEBUG, _FLEX, "debugmodel_varlen_attn", "8B", "8B_flex", "8B_varlen", "70B", "405B"),
    "llama4": (_DEBUG, "17bx16e", "17bx128e", "debugmodel_irope", "17bx16e_irope", "17bx128e_irope"),
    "deepseek_v3": (_DEBUG, _FLEX, "16B", "236B", "671B"),
    "qwen3": (
        _DEBUG, "0.6B", "1.7B", "4B", "8B", "14B", "32B", "debugmodel_moe", "30B-A3B", "235B-A22B",
    ),
    "gpt_oss": (_DEBUG, "20b", "120b"),
}  # fmt: skip
#: Datasets of hf_datasets/text_datasets.py, which are compared in lower case.
DATASETS = ("c4", "c4_test", "c4_validation")

#: The last release that is configured by a file; the one after it by functions of Python.
LAST_TOML = "0.2.2"
#: Where torchtitan declares its configuration, by release, as dataclasses or arguments; a program that is
#: made of it has the file in a package of its own.
OWN_CONFIG = (
    "torchtitan/config/job_config.py",
    "torchtitan/config_manager.py",
    "config/job_config.py",
    "config_manager.py",
)
#: Sections of experiments and forks, and of older releases.
FOREIGN = ("float8", "mx", "custom", "job.custom")
