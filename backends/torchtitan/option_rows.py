"""Settings of torchtitan that parc knows more of than `released_options.csv` says, a row each.

The names are those of 0.2.2 where releases differ; `read/spelling.py` has those before 0.2.
"""

from ...reading.facts import text_of
from ..described import rate_of
from ..option_row import OptionRow, OptionRows

_ROWS = (
    # The degrees, and the stages of a pipeline.
    OptionRow("parallelism.tensor_parallel_degree", "layout", fact="tp"),
    OptionRow("parallelism.pipeline_parallel_degree", "layout", fact="pp"),
    OptionRow("parallelism.context_parallel_degree", "layout", fact="cp"),
    OptionRow("parallelism.context_parallel_rotate_method", "target", said="cp_comm"),
    OptionRow("parallelism.expert_parallel_degree", "layout", fact="ep"),
    OptionRow("parallelism.expert_tensor_parallel_degree", "layout"),
    OptionRow("parallelism.data_parallel_replicate_degree", "layout"),
    OptionRow("parallelism.data_parallel_shard_degree", "layout"),
    OptionRow("parallelism.fsdp_reshard_after_forward", "layout"),
    OptionRow("parallelism.module_fqns_per_model_part", "layout"),
    OptionRow("parallelism.pipeline_parallel_first_stage_less_layers", "layout"),
    OptionRow("parallelism.pipeline_parallel_last_stage_less_layers", "layout"),
    OptionRow("parallelism.pipeline_parallel_layers_per_stage", "layout"),
    OptionRow("parallelism.pipeline_parallel_microbatch_size", "layout"),
    OptionRow("parallelism.pipeline_parallel_schedule", "layout", said="schedule"),
    OptionRow("parallelism.pipeline_parallel_schedule_csv", "layout", lost=True),
    OptionRow("comm.mode", "layout", lost=True),
    # What leaves the GPU, and recomputation.
    OptionRow("training.enable_cpu_offload", "layout", lost=True),
    OptionRow("activation_checkpoint.mode", "layout"),
    OptionRow("activation_checkpoint.selective_ac_option", "layout"),
    # The batch, and the length of the run.
    OptionRow("training.seq_len", "train", fact="seq_len"),
    OptionRow("training.local_batch_size", "train"),
    OptionRow("training.global_batch_size", "train"),
    OptionRow("training.steps", "train", "steps"),
    OptionRow("lr_scheduler.warmup_steps", "train", "warmup"),
    OptionRow("validation.local_batch_size", "train", lost=True),
    OptionRow("validation.seq_len", "train", lost=True),
    # The precision.
    OptionRow("training.dtype", "train", lost=True),
    OptionRow("training.mixed_precision_param", "train"),
    OptionRow("training.mixed_precision_reduce", "chosen"),
    OptionRow("quantize.linear.mx.recipe_name", "train"),
    OptionRow("quantize.grouped_mm.mx.recipe_name", "train", lost=True),
    # The optimizer and its rate; in 0.3.0 it is in groups of parameters, which are not read.
    OptionRow("checkpoint.interval", "train", "checkpoint_interval", extra=True),
    OptionRow("checkpoint.keep_latest_k", "train", "keep_checkpoints", extra=True),
    OptionRow("debug.seed", "train", "seed"),
    OptionRow("training.seed", "train"),
    OptionRow("optimizer.name", "train"),
    OptionRow("optimizer.lr", "train", "learning_rate", rate_of),
    OptionRow("optimizer.weight_decay", "train", "weight_decay", rate_of),
    OptionRow("optimizer.beta1", "train", "beta1", rate_of),
    OptionRow("optimizer.beta2", "train", "beta2", rate_of),
    OptionRow("training.max_norm", "train", "clip_grad", rate_of),
    OptionRow("lr_scheduler.decay_ratio", "train"),
    OptionRow("lr_scheduler.decay_type", "train"),
    OptionRow("lr_scheduler.min_lr_factor", "train"),
    OptionRow("checkpoint.async_mode", "train", extra=True),
    OptionRow("comm.init_timeout_seconds", "train", extra=True),
    OptionRow("comm.train_timeout_seconds", "train", extra=True),
    OptionRow("metrics.enable_tensorboard", "train", extra=True),
    OptionRow("metrics.enable_wandb", "train", extra=True),
    # The model.
    OptionRow("model.name", "model"),
    OptionRow("model.flavor", "model"),
    OptionRow("model.converters", "model"),
    OptionRow("experimental.custom_import", "model"),
    # Settings of the target's block.
    OptionRow("model.hf_assets_path", "target", "hf_assets_path", text_of),
    OptionRow("job.dump_folder", "target", "dump_folder", text_of),
    OptionRow("checkpoint.folder", "target", "checkpoint", text_of),
    OptionRow("metrics.log_freq", "target", "log_interval"),
    OptionRow("metrics.save_tb_folder", "target"),
    OptionRow("checkpoint.enable", "target"),
    OptionRow("parallelism.enable_async_tensor_parallel", "target", said="tp_overlap = true"),
    OptionRow("compile.enable_async_tensor_parallel", "target", said="tp_overlap = true"),
    OptionRow("compile.enable", "target", said="compile, in `train`, and loss_kernel"),
    OptionRow("compile.components", "target", said="compile, in `train`, and loss_kernel"),
    OptionRow("quantize.linear.float8.recipe_name", "target", said="fp8_recipe"),
    OptionRow("training.disable_cuda_graphs", "target", said="cuda_graph = false"),
    # The data, which the job decides, also where a release has them elsewhere.
    OptionRow("training.dataset", "train"),
    OptionRow("training.dataset_path", "train"),
    OptionRow("dataloader.dataset", "train", lost=True),
    OptionRow("dataloader.dataset_path", "train", lost=True),
    OptionRow("validation.dataset", "train", lost=True),
    OptionRow("validation.dataset_path", "train", lost=True),
    OptionRow("validator.dataloader.dataset", "train", lost=True),
    OptionRow("validator.dataloader.dataset_path", "train", lost=True),
    # What parc chooses with every job, and where a job is found.
    OptionRow("checkpoint.last_save_model_only", "chosen"),
    OptionRow("job.custom_config_module", "chosen"),
    OptionRow("job.description", "chosen"),
    OptionRow("quantize.grouped_mm.float8.fqns", "chosen"),
    OptionRow("quantize.grouped_mm.mx.fqns", "chosen"),
    OptionRow("quantize.linear.float8.filter_fqns", "chosen"),
    OptionRow("quantize.linear.mx.filter_fqns", "chosen"),
    OptionRow("--job.config-file", "chosen"),
    OptionRow("--job.dump-folder", "chosen"),
    OptionRow("--module", "chosen"),
    OptionRow("--config", "chosen"),
    OptionRow("-m", "chosen"),
)
ROWS = OptionRows("toml", _ROWS)
#: Names of the sequences of a rank, the newest first.
LOCAL_BATCH = (ROWS.by_name["training.local_batch_size"].name, "training.batch_size")
#: The part of them that a pipeline takes at once, and the order of its passes.
PIPELINE_MICRO_BATCH = ROWS.by_name["parallelism.pipeline_parallel_microbatch_size"].name
SCHEDULE = ROWS.by_name["parallelism.pipeline_parallel_schedule"].name
