"""Keys of ds_config.json and options of parc's train.py of which parc knows more than `released_options.csv`.

A row each; a key is the path to it, as `zero_optimization.stage`.
"""

from ...reading.facts import text_of
from ..described import rate_of
from ..option_row import OptionRow, OptionRows

_ROWS = (
    # The batch.
    OptionRow("train_batch_size", "train", fact="global_batch"),
    OptionRow("train_micro_batch_size_per_gpu", "layout", fact="micro_batch"),
    OptionRow("gradient_accumulation_steps", "layout", fact="microbatches"),
    OptionRow("elasticity", "train", lost=True, below=True),
    # The layout: ZeRO, its shards and what leaves the GPU, the degrees, recomputation.
    OptionRow("zero_optimization", "layout", lost=True),
    OptionRow("zero_optimization.stage", "layout", fact="zero", default=0),
    OptionRow("zero_optimization.zero_hpz_partition_size", "layout", fact="hpz", default=1),
    OptionRow("sequence_parallel_size", "layout", fact="ulysses", default=1, printed="cp"),
    OptionRow("tensor_parallel.autotp_size", "layout", fact="tp", printed=""),
    OptionRow("zero_optimization.mics_shard_size", "layout", lost=True),
    OptionRow("zero_optimization.offload_optimizer", "layout", lost=True),
    OptionRow("zero_optimization.offload_optimizer.device", "layout"),
    OptionRow("zero_optimization.offload_param", "layout", lost=True),
    OptionRow("zero_optimization.offload_param.device", "layout"),
    OptionRow("zero_optimization.cpu_offload", "layout", lost=True),
    OptionRow("zero_optimization.cpu_offload_param", "layout", lost=True),
    OptionRow("tensor_parallel", "layout", lost=True, below=True),
    OptionRow("expert_parallel", "layout", lost=True, below=True),
    # runtime/pipe/engine.py:217 sets it over what train.py says.
    OptionRow("pipeline.activation_checkpoint_interval", "layout", lost=True),
    # The precision.
    OptionRow("amp", "train", lost=True, below=True),
    OptionRow("bf16", "train", lost=True, below=True),
    OptionRow("bf16.enabled", "train"),
    OptionRow("bf16.immediate_grad_update", "train"),
    OptionRow("bfloat16", "train", lost=True, below=True),
    OptionRow("bfloat16.enabled", "train"),
    OptionRow("fp16", "train", lost=True),
    OptionRow("fp16.enabled", "train"),
    OptionRow("fp16.fp16_master_weights_and_grads", "train", lost=True),
    OptionRow("torch_autocast", "train", lost=True, below=True),
    OptionRow("data_types", "train", lost=True),
    OptionRow("data_types.grad_accum_dtype", "train"),
    OptionRow("data_types.param_dtype", "train", lost=True),
    # The optimizer, its rate, and the length of the run.
    OptionRow("optimizer", "train", lost=True, below=True),
    OptionRow("optimizer.type", "train"),
    OptionRow("scheduler", "train", lost=True, below=True),
    OptionRow("scheduler.params.warmup_num_steps", "train", "warmup"),
    OptionRow("optimizer.params.lr", "train", "learning_rate", rate_of),
    OptionRow("optimizer.params.weight_decay", "train", "weight_decay", rate_of),
    OptionRow("optimizer.params.betas", "train"),
    OptionRow("optimizer.params.eps", "train"),
    OptionRow("optimizer.params.torch_adam", "train"),
    OptionRow("optimizer.params.adam_w_mode", "train"),
    OptionRow("zero_allow_untested_optimizer", "train"),
    OptionRow("gradient_clipping", "train", "clip_grad", rate_of),
    OptionRow("--steps", "train", "steps"),
    OptionRow("--save-interval", "train", "checkpoint_interval"),
    OptionRow("--weights", "train"),
    OptionRow("--elastic", "train"),
    # Settings of the target's block.
    OptionRow("--data-dtype", "target", "data_dtype", text_of),
    OptionRow("--save", "target", "save", text_of),
    OptionRow("--tensorboard", "target", "tensorboard", text_of),
    OptionRow("--log-interval", "target", "log_interval"),
    OptionRow("--eval-interval", "target", "eval_interval"),
    OptionRow("--eval-iters", "target", "eval_iters"),
    OptionRow("--data", "target"),
    OptionRow("--data-weight", "target"),
    OptionRow("--valid-data", "target"),
    OptionRow("--valid-data-weight", "target"),
    OptionRow("--profile", "target"),
    OptionRow("tensorboard.output_path", "target"),
    OptionRow("wandb.project", "target"),
    OptionRow("communication_data_type", "target", said="grad_dtype"),
    OptionRow("seq_parallel_communication_data_type", "target", said="grad_dtype"),
    OptionRow("zero_optimization.overlap_comm", "target", said="dp_overlap"),
    OptionRow("tensor_parallel.tp_overlap_comm", "target", said="tp_overlap = true"),
    # What parc chooses with every job: sizes of buffers, how often a line is printed.
    OptionRow("--deepspeed", "chosen"),
    OptionRow("--deepspeed-config", "chosen"),
    OptionRow("--model", "chosen"),
    OptionRow("steps_per_print", "chosen"),
    OptionRow("tensorboard.enabled", "chosen"),
    OptionRow("tensorboard.job_name", "chosen"),
    OptionRow("wandb.enabled", "chosen"),
    OptionRow("zero_optimization.allgather_bucket_size", "chosen"),
    OptionRow("zero_optimization.contiguous_gradients", "chosen"),
    OptionRow("zero_optimization.offload_optimizer.pin_memory", "chosen"),
    OptionRow("zero_optimization.offload_param.pin_memory", "chosen"),
    OptionRow("zero_optimization.reduce_bucket_size", "chosen"),
    OptionRow("zero_optimization.reduce_scatter", "chosen"),
    OptionRow("zero_optimization.stage3_gather_16bit_weights_on_model_save", "chosen"),
    OptionRow("zero_optimization.stage3_max_live_parameters", "chosen"),
    OptionRow("zero_optimization.stage3_max_reuse_distance", "chosen"),
    OptionRow("zero_optimization.stage3_param_persistence_threshold", "chosen"),
    OptionRow("zero_optimization.stage3_prefetch_bucket_size", "chosen"),
    OptionRow("zero_optimization.sub_group_size", "chosen"),
)
ROWS = OptionRows("json", _ROWS)
#: Names of the three keys of the batch: sequences of a step, of a rank's micro-batch, and micro-batches.
BATCH = tuple(ROWS.fact(name).name for name in ("global_batch", "micro_batch", "microbatches"))
#: The keys of the optimizer's kind and of its schedule's.
OPTIMIZER = ROWS.by_name["optimizer.type"].name
SCHEDULE = "scheduler.type"
#: The section that names modules which ZeRO 3 gathers whole.
LEAVES = "zero_optimization.leaf_module"
