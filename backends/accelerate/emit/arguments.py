"""`Plan` -> accelerate's configuration and the arguments of TRL's trainer, by their own names."""

from typing import Any

from ....compiler.plan import Plan
from ....compiler.tuning.ledger import targets
from ....dsl.job import Job, Train
from ...huggingface.families import family
from ...observation import curves, log_interval
from ...timeouts import first_seconds
from ..options import options_of, token_type

#: How the rate falls, in the words of transformers (5.23 optimization.py, get_wsd_schedule).
DECAYS = {"linear": "linear", "cosine": "cosine", "sqrt": "1-sqrt"}
#: Decimals of a share of the rate.
SHARE = "{:.6g}"


def accelerate_config(plan: Plan) -> dict[str, Any]:
    """accelerate.yaml: who shards what; its kind and the number of processes."""
    layout = plan.layout
    found: dict[str, Any] = {
        "compute_environment": "LOCAL_MACHINE",
        "distributed_type": "FSDP",
        "mixed_precision": plan.job.train.precision,
        "num_machines": layout.nodes,
        "num_processes": layout.gpus,
        "same_network": True,
        "rdzv_backend": "static",
        "fsdp_config": {
            "fsdp_version": 2,
            "fsdp_reshard_after_forward": layout.zero == 3,
            "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
            "fsdp_transformer_layer_cls_to_wrap": f"{family(plan.job)}DecoderLayer",
            "fsdp_state_dict_type": "SHARDED_STATE_DICT",
            # Every rank quantizes what it reads: accelerate 1.15 sends no weights in 4 bits from rank 0.
            "fsdp_cpu_ram_efficient_loading": plan.job.train.tune != "qlora",
            "fsdp_activation_checkpointing": False,
            "fsdp_offload_params": False,
        },
    }
    if layout.dp_replicate > 1:
        found["parallelism_config"] = {
            "parallelism_config_dp_replicate_size": layout.dp_replicate,
            "parallelism_config_dp_shard_size": layout.dp_shard,
            "parallelism_config_tp_size": 1,
            "parallelism_config_cp_size": 1,
        }
    return found


def trainer_arguments(plan: Plan) -> dict[str, Any]:
    """train.yaml: fields of SFTConfig and of ModelConfig, and of train.py's own `Run`."""
    job, train, layout = plan.job, plan.job.train, plan.layout
    return {
        "dtype": "bfloat16",
        "attn_implementation": "eager" if train.attention == "unfused" else "sdpa",
        **_adapters(job),
        **_four_bits(train),
        "token_type": token_type(job),
        "max_length": train.seq_len,
        "dataset_kwargs": {"skip_prepare_dataset": True},
        "remove_unused_columns": False,
        "per_device_train_batch_size": layout.micro_batch,
        "gradient_accumulation_steps": layout.microbatches,
        "accelerator_config": {"gradient_accumulation_kwargs": {"sync_each_batch": True}},
        "max_steps": train.total_steps,
        "bf16": True,
        **_recomputation(layout.recompute_name == "full"),
        **_optimizer(train),
        **_schedule(train),
        "seed": train.seed,
        **_checkpoints(plan),
        "logging_steps": log_interval(plan),
        "disable_tqdm": True,
        "report_to": train.tracker or "none",
        "run_name": job.name,
        "ddp_timeout": int(first_seconds(plan)),
    }


def _adapters(job: Job) -> dict[str, Any]:
    adapters = job.train.adapters
    if adapters is None:
        return {"use_peft": False}
    return {
        "use_peft": True,
        "lora_r": adapters.rank,
        "lora_alpha": adapters.alpha,
        "lora_dropout": adapters.dropout,
        "lora_target_modules": [matrix.name for matrix in targets(job.model, adapters)],
    }


def _four_bits(train: Train) -> dict[str, Any]:
    """NF4 with double quantization, kept in 16-bit elements: FSDP2 divides no integers (accelerate 1.15
    utils/fsdp_utils.py:797)."""
    if train.tune != "qlora":
        return {}
    return {
        "load_in_4bit": True,
        "bnb_4bit_quant_type": "nf4",
        "use_bnb_nested_quant": True,
        "bnb_4bit_quant_storage": "bfloat16",
    }


def _recomputation(whole: bool) -> dict[str, Any]:
    if not whole:
        return {"gradient_checkpointing": False}
    return {
        "gradient_checkpointing": True,
        "gradient_checkpointing_kwargs": {"use_reentrant": False},
    }


def _optimizer(train: Train) -> dict[str, Any]:
    return {
        "optim": "adamw_torch_fused",
        "learning_rate": train.learning_rate,
        "weight_decay": train.weight_decay,
        "adam_beta1": train.beta1,
        "adam_beta2": train.beta2,
        "max_grad_norm": train.clip_grad,
    }


def _schedule(train: Train) -> dict[str, Any]:
    """All that falls is transformers' `warmup_stable_decay`, whose decay is the whole rest but of wsd."""
    if train.schedule == "constant":
        return {"lr_scheduler_type": "constant_with_warmup", "warmup_steps": train.warmup_steps}
    wsd = train.schedule == "wsd"
    rest = train.total_steps - train.warmup_steps
    return {
        "lr_scheduler_type": "warmup_stable_decay",
        "lr_scheduler_kwargs": {
            "num_decay_steps": min(train.wsd_steps, rest) if wsd else rest,
            "decay_type": DECAYS[train.decay_style if wsd else train.schedule],
            "min_lr_ratio": float(SHARE.format(train.min_learning_rate / train.learning_rate)),
        },
        "warmup_steps": train.warmup_steps,
    }


def _checkpoints(plan: Plan) -> dict[str, Any]:
    if options_of(plan.job).save is None:
        return {"save_strategy": "no"}
    kept = plan.checkpoints.keep
    return {
        "save_strategy": "steps",
        "save_steps": plan.checkpoint_interval,
        **({"save_total_limit": kept} if kept else {}),
    }


def board(job: Job) -> str | None:
    """TensorBoard's folder."""
    return curves(job, None)[0]
