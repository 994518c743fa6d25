"""`Plan` -> the contents of `ds_config.json`: only keys that are read, never "auto"."""

from typing import Any

from ....compiler.plan import Plan
from ....dsl.job import Job
from ...observation import BOARD, FOLDER, curves
from ..extra import written
from ..options import options_of, sums_in_fp32
from ..target import (
    GATHER_BUCKET,
    LIVE_LAYERS,
    PERSISTENT,
    REDUCE_BUCKET,
    SUB_GROUP,
    layer_parameters,
)

Json = dict[str, Any]


def ds_config(plan: Plan) -> Json:
    """The configuration that `deepspeed.initialize` reads."""
    job, layout = plan.job, plan.layout
    config: Json = {
        # Ranks that share a sample by tensor parallelism count (runtime/config.py:471).
        "train_batch_size": layout.micro_batch * layout.microbatches * layout.dp * layout.tp,
        "train_micro_batch_size_per_gpu": layout.micro_batch,
        "gradient_accumulation_steps": layout.microbatches,
        "steps_per_print": None,
        "gradient_clipping": job.train.clip_grad,
        **_precision(job, layout.zero),
        **_sequence_parallel(job, layout.cp),
        **_tensor_parallel(job, layout.tp),
        **_gradients(job, layout.cp),
        "optimizer": _optimizer(job, layout.offload),
        **({"zero_allow_untested_optimizer": True} if _untested(job, layout.zero) else {}),
        "zero_optimization": _zero(plan),
        **_monitors(job),
    }
    options = options_of(job)
    for key, value in options.extra.items():
        _set(config, key.split("."), written(key, value, options.version))
    return config


def _monitors(job: Job) -> Json:
    """Where the engine sends its curves (monitor/config.py)."""
    board, project = curves(job, options_of(job))
    sections: Json = {}
    if board is not None:
        # launch.sh names the folder of the run.
        folder = FOLDER if board == BOARD else board
        name = job.model.name or job.name
        sections["tensorboard"] = {"enabled": True, "output_path": folder, "job_name": name}
    if project is not None:
        sections["wandb"] = {"enabled": True, "project": project}
    return sections


def _untested(job: Job, zero: int) -> bool:
    """ZeRO wants to be told that it may wrap optimizers other than its own list (runtime/zero/utils.py)."""
    return job.train.optimizer != "adam" and zero >= 1


def _precision(job: Job, zero: int) -> Json:
    if job.train.precision == "fp16":
        section: Json = {"fp16": {"enabled": True, "loss_scale": 0, "initial_scale_power": 16}}
    else:
        section = {"bf16": {"enabled": True}}
        if zero == 1 and sums_in_fp32(job):
            section["bf16"]["immediate_grad_update"] = True
    if zero >= 1 and sums_in_fp32(job):
        section["data_types"] = {"grad_accum_dtype": "fp32"}
    return section


def _sequence_parallel(job: Job, degree: int) -> Json:
    """The degree, which train.py reads; gradients then travel in fp32 by default (engine.py:2182)."""
    if degree == 1:
        return {}
    return {
        "sequence_parallel_size": degree,
        "seq_parallel_communication_data_type": options_of(job).grad_dtype or job.train.precision,
    }


def _gradients(job: Job, degree: int) -> Json:
    """The dtype in which gradients travel; under Ulysses it is the one beside the degree."""
    chosen = options_of(job).grad_dtype
    own = chosen in (None, job.train.precision)
    return {} if own or degree > 1 else {"communication_data_type": chosen}


def _tensor_parallel(job: Job, degree: int) -> Json:
    if degree == 1:
        return {}
    overlap = {"tp_overlap_comm": True} if options_of(job).tp_overlap else {}
    return {"tensor_parallel": {"autotp_size": degree, **overlap}}


def _optimizer(job: Job, offload: int) -> Json:
    train, options = job.train, options_of(job)
    if train.optimizer == "sgd":
        momentum = {"momentum": train.beta1, "weight_decay": train.weight_decay}
        return {"type": "SGD", "params": {"lr": train.learning_rate, **momentum}}
    params: Json = {
        "lr": train.learning_rate,
        "betas": [train.beta1, train.beta2],
        "eps": 1e-8,
        "weight_decay": train.weight_decay,
    }
    if options.adam == "torch" and not offload:
        params["torch_adam"] = True
    return {"type": "AdamW", "params": params}


def _zero(plan: Plan) -> Json:
    layout = plan.layout
    section: Json = {"stage": layout.zero, **_stage_keys(plan)}
    if layout.offload >= 1:
        section["offload_optimizer"] = {"device": "cpu", "pin_memory": True}
    if layout.offload == 2:
        section["offload_param"] = {"device": "cpu", "pin_memory": True}
    if layout.hpz > 1:
        section["zero_hpz_partition_size"] = layout.hpz
    return section


def _stage_keys(plan: Plan) -> Json:
    job, layout = plan.job, plan.layout
    if layout.zero == 0:
        return {}
    if layout.zero == 3:
        layer = layer_parameters(job)
        return {
            "overlap_comm": options_of(job).dp_overlap,
            "contiguous_gradients": True,
            "reduce_bucket_size": REDUCE_BUCKET,
            "sub_group_size": SUB_GROUP,
            "stage3_prefetch_bucket_size": layer,
            "stage3_max_live_parameters": LIVE_LAYERS * layer,
            "stage3_max_reuse_distance": LIVE_LAYERS * layer,
            "stage3_param_persistence_threshold": PERSISTENT,
        }
    if (
        layout.zero == 1
        and sums_in_fp32(job)
        and job.train.precision == "bf16"
        and not layout.offload
    ):
        return {"allgather_bucket_size": GATHER_BUCKET}
    return {
        # runtime/engine.py:2663: the pipeline engine switches overlap off, with a warning.
        "overlap_comm": layout.pp == 1 and options_of(job).dp_overlap,
        "contiguous_gradients": True,
        "reduce_scatter": True,
        "reduce_bucket_size": REDUCE_BUCKET,
        "allgather_bucket_size": GATHER_BUCKET,
    }


def _set(config: Json, keys: list[str], value: object) -> None:
    for key in keys[:-1]:
        config = config.setdefault(key, {})
    config[keys[-1]] = value
