"""Keys of a DeepSpeed config and options of train.py that a job says: those that are read, and parc's own."""

from collections.abc import Iterator

from ....reading.facts import LaunchConfig, Setting

#: Facts (settings.py), and values of the blocks (described.py).
_READ = """
    train_batch_size train_micro_batch_size_per_gpu gradient_accumulation_steps zero_optimization.stage
    zero_optimization.zero_hpz_partition_size sequence_parallel_size tensor_parallel.autotp_size
    bf16.enabled fp16.enabled bfloat16.enabled optimizer.type optimizer.params.lr optimizer.params.betas
    optimizer.params.weight_decay scheduler.params.warmup_num_steps gradient_clipping
    zero_optimization.offload_optimizer.device zero_optimization.offload_param.device
    --deepspeed --deepspeed-config --model --steps --save --save-interval --data --data-weight
    --valid-data --valid-data-weight --data-dtype --log-interval --eval-interval --eval-iters
    --tensorboard --profile --weights --elastic tensorboard.output_path wandb.project
    communication_data_type seq_parallel_communication_data_type zero_optimization.overlap_comm
    tensor_parallel.tp_overlap_comm
"""
#: What parc chooses with every job: sizes of buffers, precisions of sums, how often a line is printed.
_CHOSEN = """
    bf16.immediate_grad_update data_types.grad_accum_dtype
    optimizer.params.eps optimizer.params.torch_adam optimizer.params.adam_w_mode steps_per_print
    zero_optimization.allgather_bucket_size zero_optimization.contiguous_gradients
    zero_optimization.offload_optimizer.pin_memory zero_optimization.offload_param.pin_memory
    zero_optimization.reduce_bucket_size
    zero_optimization.reduce_scatter
    zero_optimization.stage3_max_live_parameters zero_optimization.stage3_max_reuse_distance
    zero_optimization.stage3_param_persistence_threshold zero_optimization.sub_group_size
    zero_optimization.stage3_prefetch_bucket_size
    zero_optimization.stage3_gather_16bit_weights_on_model_save zero_allow_untested_optimizer
    tensorboard.enabled tensorboard.job_name wandb.enabled
"""
EXPRESSED = frozenset(f"{_READ} {_CHOSEN}".split())


def unexpressed(config: LaunchConfig) -> Iterator[Setting]:
    """Keys and options that no job says, in their order."""
    for scope in ("argument", "json"):
        for setting in config.all(scope):
            if not {setting.name, setting.name.replace("_", "-")} & EXPRESSED:
                yield setting
