"""Keys of accelerate's configuration, and the words and numbers that they may have."""

from .option_rows import KIND

#: Of 1.15, and what earlier releases had.
KEYS = frozenset(
    (
        "compute_environment", "distributed_type", "mixed_precision", "use_cpu", "debug", "num_processes",
        "machine_rank", "num_machines", "gpu_ids", "main_process_ip", "main_process_port", "rdzv_backend",
        "same_network", "main_training_function", "enable_cpu_affinity", "fp8_config", "deepspeed_config",
        "fsdp_config", "parallelism_config", "megatron_lm_config", "mpirun_config", "downcast_bf16",
        "tpu_name", "tpu_zone", "tpu_use_cluster", "tpu_use_sudo", "command_file", "commands", "tpu_vm",
        "tpu_env", "dynamo_config", "fp16", "dynamo_backend", "ipex_config", "use_mps_device",
        "deepspeed_hostfile", "tp_config",
    )
)  # fmt: skip
_DEVICES = ("none", "cpu", "nvme")
#: Key -> its words, which other cases of letters may spell where they are lower here.
WORDS = {
    "mixed_precision": ("no", "fp8", "fp16", "bf16"),
    KIND: (
        "NO", "MULTI_CPU", "MULTI_GPU", "MULTI_NPU", "MULTI_MLU", "MULTI_SDAA", "MULTI_MUSA", "DEEPSPEED",
        "FSDP", "XLA", "MEGATRON_LM", "MULTI_XPU", "MULTI_HPU", "MULTI_NEURON", "TPU", "TP",
    ),
    # What is not the first is read as a configuration of SageMaker, whose keys are others.
    "compute_environment": ("LOCAL_MACHINE", "AMAZON_SAGEMAKER"),
    "deepspeed_config.offload_optimizer_device": _DEVICES,
    "deepspeed_config.offload_param_device": _DEVICES,
    "fsdp_config.fsdp_auto_wrap_policy": ("transformer_based_wrap", "size_based_wrap", "no_wrap"),
    "fsdp_config.fsdp_backward_prefetch": ("backward_pre", "backward_post", "no_prefetch", "1", "2"),
    "fsdp_config.fsdp_state_dict_type": (
        "full_state_dict", "local_state_dict", "sharded_state_dict", "1", "2", "3",
    ),
    "fsdp_config.fsdp_sharding_strategy": (
        "full_shard", "shard_grad_op", "no_shard", "hybrid_shard", "hybrid_shard_zero2",
        "1", "2", "3", "4", "5",
    ),
}  # fmt: skip
#: Keys whose words are compared as they are written.
AS_WRITTEN = (KIND, "compute_environment")
TRUTH = ("y", "yes", "t", "true", "on", "1", "n", "no", "f", "false", "off", "0")
SWITCHES = (
    "fsdp_offload_params", "fsdp_cpu_ram_efficient_loading", "fsdp_activation_checkpointing",
    "fsdp_use_orig_params", "fsdp_sync_module_states", "fsdp_forward_prefetch",
)  # fmt: skip
#: What FSDP 2 does not read.
FIRST_ALONE = ("fsdp_use_orig_params", "fsdp_sync_module_states", "fsdp_forward_prefetch",
                "fsdp_sharding_strategy", "fsdp_backward_prefetch")  # fmt: skip
NUMBERS = {
    **dict.fromkeys(("num_machines", "num_processes", "machine_rank", "main_process_port"), r"-?\d+"),
    "deepspeed_config.zero_stage": r"[0-3]",
    "deepspeed_config.gradient_clipping": r"auto|[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?",
    "fsdp_config.fsdp_version": r"[12]",
    "fsdp_config.fsdp_min_num_params": r"\d+",
}  # fmt: skip
LOADING = "fsdp_config.fsdp_cpu_ram_efficient_loading"
SYNCHRONISED = "fsdp_config.fsdp_sync_module_states"
