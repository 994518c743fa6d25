"""Keys of ds_config.json, and their values, that no schema of DeepSpeed describes."""

from ..option_rows import BATCH, LEAVES, OPTIMIZER, SCHEDULE

#: Hand-read keys with the kind of value they want.
READ_BY_HAND = {
    **dict.fromkeys(BATCH, "count"),
    "fp16": "section",
    "bf16": "section",
    "optimizer": "section",
    "scheduler": "section",
    "communication_data_type": ("fp16", "fp32", "bf16", "bfp16"),
    "seq_parallel_communication_data_type": ("fp16", "fp32", "bf16", "bfp16"),
    "data_types.grad_accum_dtype": ("fp32", "fp16", "bf16"),
    OPTIMIZER: (
        "adagrad", "adam", "adamw", "lamb", "muadam", "muadamw", "musgd", "lion", "muon",
        "onebitadam", "onebitlamb", "zerooneadam", "cpuadam", "fusedadam",
        "asgd", "adadelta", "adafactor", "adamax", "lbfgs", "nadam", "radam", "rmsprop", "rprop",
        "sgd", "sparseadam",
    ),
    SCHEDULE: (
        "lrrangetest", "onecycle", "warmuplr", "warmupdecaylr", "warmupcosinelr", "constantlr",
        "cosineannealinglr", "cosineannealingwarmrestarts", "cycliclr", "exponentiallr", "lambdalr",
        "linearlr", "multisteplr", "multiplicativelr", "onecyclelr", "polynomiallr",
        "reducelronplateau", "sequentiallr", "steplr",
    ),
}  # fmt: skip
#: Types that not every release has, and the first one that does (runtime/lr_schedules.py).
FIRST_WITH = {(SCHEDULE, "warmupcosinelr"): "0.12.3"}
#: Sections that releases before this one read key by key, and check no value of (0.16's runtime/config.py).
CHECKED_SINCE = {"fp16": "0.17", "bf16": "0.17"}

#: The least number that the schema takes (runtime/zero/config.py and offload_config.py, since 0.9).
LEAST = {
    f"zero_optimization.{key}": 0
    for key in (
        "reduce_bucket_size", "allgather_bucket_size", "sub_group_size", "stage3_prefetch_bucket_size",
        "stage3_param_persistence_threshold", "stage3_model_persistence_threshold",
        "stage3_max_live_parameters", "stage3_max_reuse_distance", "zero_hpz_partition_size",
        "offload_param.buffer_count", "offload_param.buffer_size", "offload_param.max_in_cpu",
        "offload_optimizer.buffer_count", "offload_optimizer.ratio",
    )
}  # fmt: skip
#: Numbers that are above 0 since a release (the latter two where the loss scale moves).
ABOVE_ZERO = {
    "zero_optimization.reduce_bucket_size": "0.19.7",
    "fp16.loss_scale_window": "0.19.3",
    "fp16.min_loss_scale": "0.19.3",
}
#: The loss scale moves where the first is true and the second is 0.
HALF, SCALE = "fp16.enabled", "fp16.loss_scale"
#: Stages 1 and 2 assert that it is even (runtime/zero/stage_1_and_2.py:390; 0.15.4 has it, too).
EVEN = "zero_optimization.allgather_bucket_size"
#: Numbers and truth values that are used as they are written: a text ends the start with a TypeError.
UNQUOTED = (
    *BATCH, "wall_clock_breakdown", "scheduler.params.warmup_min_lr", "scheduler.params.warmup_max_lr",
    "scheduler.params.warmup_num_steps", "scheduler.params.total_num_steps",
)  # fmt: skip

_WARMUP = ("warmup_num_steps", "warmup_type", "last_batch_iteration")
#: Arguments of DeepSpeed's own schedules (runtime/lr_schedules.py; 0.15.4 has the same).
SCHEDULE_ARGUMENTS = {
    "warmuplr": ("warmup_min_lr", "warmup_max_lr", *_WARMUP),
    "warmupdecaylr": ("total_num_steps", "warmup_min_lr", "warmup_max_lr", *_WARMUP),
    "warmupcosinelr": ("total_num_steps", "warmup_min_ratio", "cos_min_ratio", *_WARMUP),
}

#: Keys that configs have had since releases which did not check these sections, by section.
UNCHECKED_ONCE = {
    "zero_optimization": {
        "stage3_use_all_gather_into_tensor": "",
        "use_node_local_storage": "checkpoint",
    },
    "fp16": {"type": "", "opt_level": ""},
    "bf16": {"loss_scale": "", "initial_scale_power": "", "loss_scale_window": "", "hysteresis": "",
             "min_loss_scale": "", "auto_cast": "", "opt_level": ""},
}  # fmt: skip
#: Sections whose keys these models do not hold, nested in those that they do.
NESTED = ("zero_optimization.zenflow", LEAVES, "tensor_parallel.tp",
          "tensor_parallel.partition_config", "compile.deepcompile")  # fmt: skip

_OTHERS_WORDS = """
    fp32_allreduce disable_allgather zero_quantized_weights bf16_enabled data_types moe
    prescale_gradients_fp16 inference_only checkpoint_tag_validation load_universal
"""
#: Read by programs above DeepSpeed, or by older releases.
READ_BY_OTHERS = frozenset(_OTHERS_WORDS.split())

#: Keys whose values are texts, whatever they look like.
TEXTS = ("job_name", "tag", "project", "team", "group", "output_path", "version")

#: What is read beside `params`.
BESIDE_PARAMS = {"optimizer": ("type", "params", "legacy_fusion"), "scheduler": ("type", "params")}
#: Sections that are read key by key: DeepSpeed 0.19.8 activation_checkpointing/config.py,
#: swap_tensor/constants.py and profiling/config.py.
_CHECKPOINTING_WORDS = """partition_activations cpu_checkpointing contiguous_memory_optimization
    number_checkpoints synchronize_checkpoint_boundary profile"""
_AIO_WORDS = """block_size queue_depth thread_count intra_op_parallelism single_submit overlap_events
    use_gds"""
_PROFILER_WORDS = """enabled recompute_fwd_factor profile_step module_depth top_modules detailed
    output_file"""
READ_BY_KEY = {
    "activation_checkpointing": _CHECKPOINTING_WORDS.split(),
    "aio": _AIO_WORDS.split(),
    "flops_profiler": _PROFILER_WORDS.split(),
}
