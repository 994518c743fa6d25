"""Arguments of Transformers' Trainer and keys of accelerate's configuration, a row each.

`older` are names of the same meaning in LLaMA-Factory, axolotl, TRL and DeepSpeedExamples. The releases of an
argument of the Trainer are in `lint/releases/transformers.csv`.
"""

from collections.abc import Container

from ...compiler.plan import OFFLOAD
from ..described import rate_of
from ..option_row import OptionRow, OptionRows

#: The key of accelerate's configuration that says who distributes.
KIND = "distributed_type"
#: axolotl's key of the model that it starts from.
BASE = "base_model"
_RECOMPUTED = (("true", "full"), ("false", "none"))
#: FSDP's strategies as stages of ZeRO, by the words and the numbers that accelerate takes (1.15
#: utils/constants.py:38, utils/dataclasses.py:1847); a hybrid one shards within a node.
_STRATEGIES = (
    ("full_shard", 3),
    ("shard_grad_op", 2),
    ("no_shard", 0),
    ("hybrid_shard", 3),
    ("hybrid_shard_zero2", 2),
    ("1", 3),
    ("2", 2),
    ("3", 0),
    ("4", 3),
    ("5", 2),
)

_TRAINER = (
    # The batch, and the length of the run.
    OptionRow(
        "per_device_train_batch_size",
        "layout",
        fact="micro_batch",
        older=("micro_batch_size", "train_micro_batch_size_per_gpu"),
    ),
    OptionRow("gradient_accumulation_steps", "layout", fact="microbatches"),
    # Programs of the Trainer declare it themselves.
    OptionRow(
        "cutoff_len",
        "train",
        fact="seq_len",
        older=(
            "sequence_len", "max_seq_length", "max_seq_len", "max_length", "model_max_length"
        ),  # fmt: skip
    ),
    OptionRow("max_steps", "train", "steps"),
    OptionRow("num_train_epochs", "train"),
    # The precision, and what the backward pass computes again.
    OptionRow("bf16", "train", fact="precision", values=(("true", "bf16"),)),
    OptionRow("fp16", "train", fact="precision", values=(("true", "fp16"),)),
    OptionRow("gradient_checkpointing", "layout", fact="recompute", values=_RECOMPUTED),
    # Who shards the model.
    OptionRow("deepspeed", "layout"),
    OptionRow("fsdp", "layout", fact="sharding", values=_STRATEGIES),
    OptionRow("fsdp_config", "layout", below=True),
    # axolotl's own (0.19 utils/schemas/config.py).
    OptionRow("fsdp_version", "layout"),
    OptionRow("tensor_parallel_size", "layout", fact="tp"),
    OptionRow("context_parallel_size", "layout", fact="cp", older=("sequence_parallel_degree",)),
    OptionRow("dp_shard_size", "layout", fact="dp_shard"),
    OptionRow("dp_replicate_size", "layout", fact="dp_replicate"),
    # The optimizer and its rate.
    OptionRow("learning_rate", "train", "learning_rate", rate_of),
    OptionRow("weight_decay", "train", "weight_decay", rate_of),
    OptionRow("adam_beta1", "train", "beta1", rate_of),
    OptionRow("adam_beta2", "train", "beta2", rate_of),
    OptionRow("max_grad_norm", "train", "clip_grad", rate_of),
    OptionRow("warmup_steps", "train", "warmup"),
    OptionRow("lr_scheduler_type", "train"),
    OptionRow("optim", "train"),
    OptionRow("seed", "train", "seed"),
    # Checkpoints.
    OptionRow("save_steps", "train", "checkpoint_interval"),
    OptionRow("save_total_limit", "train", "keep_checkpoints"),
    OptionRow("save_strategy", "train"),
    OptionRow("output_dir", "watched"),
    OptionRow("overwrite_output_dir", "watched"),
    OptionRow("resume_from_checkpoint", "watched"),
    OptionRow("enable_jit_checkpoint", "watched"),
)
#: Arguments of the Trainer, by the name of the field.
TRAINER = OptionRows("yaml", _TRAINER)

_ACCELERATE = (
    OptionRow("num_machines", "layout", fact="nodes"),
    OptionRow("num_processes", "layout", fact="gpus"),
    OptionRow(KIND, "layout"),
    OptionRow("mixed_precision", "train", fact="precision", values=(("no", "fp32"),)),
    # DeepSpeed, where no config of its own is named.
    OptionRow("deepspeed_config.deepspeed_config_file", "chosen"),
    OptionRow("deepspeed_config.zero_stage", "layout", fact="zero"),
    OptionRow("deepspeed_config.gradient_accumulation_steps", "layout", fact="microbatches"),
    OptionRow("deepspeed_config.gradient_clipping", "train", "clip_grad", rate_of),
    OptionRow("deepspeed_config.offload_optimizer_device", "layout", fact="offload"),
    OptionRow("deepspeed_config.offload_param_device", "layout", fact="offload"),
    # FSDP: `fsdp_` may be left out of a key (commands/launch.py:1270).
    OptionRow("fsdp_config.fsdp_version", "layout", older=("fsdp_config.version",)),
    OptionRow(
        "fsdp_config.fsdp_sharding_strategy",
        "layout",
        fact="sharding",
        older=("fsdp_config.sharding_strategy",),
        values=_STRATEGIES,
    ),
    # FSDP 2 takes true or false, the Trainer with FSDP 1 a strategy.
    OptionRow(
        "fsdp_config.fsdp_reshard_after_forward",
        "layout",
        fact="sharding",
        older=("fsdp_config.reshard_after_forward",),
        values=(("true", 3), ("false", 2), *_STRATEGIES),
    ),
    # The Trainer's own name for it is the last (5.23 training_args.py:2830).
    OptionRow(
        "fsdp_config.fsdp_offload_params",
        "layout",
        fact="offload",
        older=("fsdp_config.offload_params", "fsdp_config.cpu_offload"),
        values=(("true", OFFLOAD[2]), ("false", OFFLOAD[0])),
    ),
    OptionRow(
        "fsdp_config.fsdp_activation_checkpointing",
        "layout",
        fact="recompute",
        older=("fsdp_config.activation_checkpointing",),
        values=_RECOMPUTED,
    ),
    OptionRow(
        "fsdp_config.fsdp_transformer_layer_cls_to_wrap",
        "layout",
        older=("fsdp_config.transformer_layer_cls_to_wrap",),
    ),
    OptionRow(
        "fsdp_config.fsdp_auto_wrap_policy", "layout", older=("fsdp_config.auto_wrap_policy",)
    ),
    OptionRow("fsdp_config.fsdp_state_dict_type", "chosen", older=("fsdp_config.state_dict_type",)),
    OptionRow(
        "fsdp_config.fsdp_cpu_ram_efficient_loading",
        "chosen",
        older=("fsdp_config.cpu_ram_efficient_loading",),
    ),
    # Degrees, which accelerate reads with FSDP 2 alone (commands/launch.py:1211).
    OptionRow("parallelism_config.parallelism_config_tp_size", "layout", fact="tp"),
    OptionRow("parallelism_config.parallelism_config_cp_size", "layout", fact="cp"),
    OptionRow("parallelism_config.parallelism_config_sp_size", "layout", fact="ulysses"),
    OptionRow("parallelism_config.parallelism_config_dp_shard_size", "layout", fact="dp_shard"),
    OptionRow(
        "parallelism_config.parallelism_config_dp_replicate_size", "layout", fact="dp_replicate"
    ),
)
#: Keys of accelerate's configuration, as paths.
ACCELERATE = OptionRows("yaml", _ACCELERATE)
#: Arguments of the Trainer: its schedule, its optimizer, and whether it computes activations again.
OPTIM = TRAINER.by_name["optim"].name
LR_SCHEDULE = TRAINER.by_name["lr_scheduler_type"].name
RECOMPUTES = TRAINER.fact("recompute").name
#: When it saves and evaluates, by which releases name it, and whether it looks for the best of both.
SAVES, SAVE_STEPS = (TRAINER.by_name[name].name for name in ("save_strategy", "save_steps"))
EVALUATES, EVAL_STEPS = ("eval_strategy", "evaluation_strategy"), "eval_steps"
BEST = "load_best_model_at_end"
#: Which FSDP it is: axolotl's key, then those of the block.
VERSIONS = (
    TRAINER.by_name["fsdp_version"].name,
    *ACCELERATE.by_name["fsdp_config.fsdp_version"].names,
)
#: The key that names DeepSpeed's own config.
CONFIG_FILE = ACCELERATE.by_name["deepspeed_config.deepspeed_config_file"].name


def of_axolotl(names: Container[str]) -> bool:
    """Whether a file has the keys of axolotl, which says by its own which model it starts from."""
    return BASE in names


def option(name: str) -> str:
    """The option of a command for an argument of the Trainer, or for a key of accelerate's configuration."""
    return "--" + name.rpartition(".")[2].replace("_", "-")
