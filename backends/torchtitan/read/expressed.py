"""Settings of torchtitan that a job says: those that are read, and what parc writes itself."""

from collections.abc import Iterator

from ....reading.facts import LaunchConfig, Setting, text_of
from ..emit.sections import OVERLAP
from .target_block import BLEND
from .unread_arguments import unread

#: Facts of the layout, the batch and the model (facts.py).
_FACTS = """
    parallelism.data_parallel_replicate_degree parallelism.data_parallel_shard_degree
    parallelism.tensor_parallel_degree parallelism.pipeline_parallel_degree
    parallelism.context_parallel_degree parallelism.expert_parallel_degree
    parallelism.expert_tensor_parallel_degree parallelism.fsdp_reshard_after_forward
    parallelism.pipeline_parallel_schedule parallelism.pipeline_parallel_microbatch_size
    training.seq_len training.local_batch_size training.global_batch_size model.name model.flavor
    model.converters activation_checkpoint.mode
"""
#: Values of the blocks (described.py).
_DESCRIBED = """
    training.seed training.steps training.max_norm lr_scheduler.warmup_steps lr_scheduler.decay_type
    lr_scheduler.decay_ratio lr_scheduler.min_lr_factor optimizer.name optimizer.lr
    optimizer.weight_decay optimizer.beta1 optimizer.beta2 checkpoint.interval compile.enable debug.seed
    checkpoint.keep_latest_k checkpoint.async_mode checkpoint.folder comm.train_timeout_seconds
    metrics.enable_tensorboard metrics.enable_wandb metrics.save_tb_folder
    model.hf_assets_path job.dump_folder metrics.log_freq training.dataset training.dataset_path
    parallelism.enable_async_tensor_parallel compile.enable_async_tensor_parallel compile.components
    quantize.linear.float8.recipe_name training.disable_cuda_graphs
"""
#: What parc chooses with every job: layers of a stage, precisions of sums, where a model is registered.
_CHOSEN = """
    parallelism.pipeline_parallel_layers_per_stage parallelism.module_fqns_per_model_part
    parallelism.pipeline_parallel_first_stage_less_layers
    parallelism.pipeline_parallel_last_stage_less_layers training.mixed_precision_param
    training.mixed_precision_reduce activation_checkpoint.selective_ac_option checkpoint.enable
    comm.init_timeout_seconds
    quantize.linear.float8.filter_fqns quantize.grouped_mm.float8.fqns quantize.linear.mx.recipe_name
    quantize.linear.mx.filter_fqns quantize.grouped_mm.mx.fqns
    checkpoint.last_save_model_only experimental.custom_import job.description job.custom_config_module
"""
#: The folder of the run, which the entry script sets.
_RUN = "--job.dump-folder"
_OPTIONS = "--job.config-file --module --config -m"
EXPRESSED = frozenset(" ".join([_FACTS, _DESCRIBED, _CHOSEN, _RUN, _OPTIONS]).split())


def unexpressed(config: LaunchConfig) -> Iterator[Setting]:
    """Settings of the configuration, options of the command and arguments of the model that no job says."""
    for scope in ("argument", "toml", "python"):
        for setting in config.all(scope):
            if setting.name == OVERLAP and text_of(setting) in ("False", "false"):
                continue
            blend = setting.name == "training.dataset" and text_of(setting) == BLEND
            if blend or not {setting.name, setting.name.replace("_", "-")} & EXPRESSED:
                yield setting
    yield from unread(config)
