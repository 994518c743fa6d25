"""The names that a torchtitan configuration may use, and what each takes. Others stop 0.2.2 at load
(config/manager.py:168)."""

from collections.abc import Mapping

#: Kind of a setting: int, float, bool, str, list (of texts), lists, or its words with `|` between them.
Kinds = Mapping[str, Mapping[str, str]]


def _kinds(text: Mapping[str, str]) -> Kinds:
    """Kind by key of each section, whose lines are `kind: keys`, indented where one goes on."""
    found: dict[str, dict[str, str]] = {}
    for section, lines in text.items():
        kind, keys = "", found.setdefault(section, {})
        for line in lines.split("\n"):
            head, colon, rest = line.strip().partition(": ")
            kind = head if colon else kind
            keys |= dict.fromkeys((rest if colon else head).split(), kind)
    return found


#: Sections of JobConfig (torchtitan 0.2.2, config/job_config.py).
SECTIONS = _kinds(
    {
        "job": """
            str: config_file dump_folder description save_config_file custom_config_module
            bool: print_config
        """,
        "profiling": """
            bool: enable_profiling enable_memory_snapshot
            str: save_traces_folder save_memory_snapshot_folder
            int: profile_freq profiler_active profiler_warmup
        """,
        "metrics": """
            int: log_freq
            bool: enable_tensorboard disable_color_printing save_for_all_ranks enable_wandb
            str: save_tb_folder
        """,
        "model": """
            str: name flavor hf_assets_path tokenizer_path
            list: converters
            bool: print_after_conversion
        """,
        "optimizer": """
            str: name
            float: lr beta1 beta2 eps weight_decay
            for-loop|foreach|fused: implementation
            bool: early_step_in_backward
        """,
        "lr_scheduler": """
            int: warmup_steps total_steps
            float: decay_ratio min_lr_factor
            linear|sqrt|cosine: decay_type
        """,
        "training.dataloader": """
            int: num_workers prefetch_factor
            bool: persistent_workers pin_memory
        """,
        "training": """
            str: dataset dataset_path
            int: local_batch_size global_batch_size seq_len steps gc_freq
            float: max_norm
            bool: enable_cpu_offload gc_debug
            bfloat16|float32: dtype mixed_precision_param
            float32: mixed_precision_reduce
        """,
        "parallelism": """
            int: data_parallel_replicate_degree data_parallel_shard_degree tensor_parallel_degree
                pipeline_parallel_degree pipeline_parallel_first_stage_less_layers
                pipeline_parallel_last_stage_less_layers pipeline_parallel_layers_per_stage
                pipeline_parallel_microbatch_size context_parallel_degree expert_parallel_degree
                expert_tensor_parallel_degree
            default|always|never: fsdp_reshard_after_forward
            bool: disable_loss_parallel enable_async_tensor_parallel
                pipeline_parallel_expert_parallel_overlap
            lists: module_fqns_per_model_part
            str: pipeline_parallel_schedule pipeline_parallel_schedule_csv
                context_parallel_load_balancer
            allgather|alltoall: context_parallel_rotate_method
            standard|deepep: expert_parallel_comm_backend
        """,
        "checkpoint": """
            bool: enable enable_ft_dataloader_checkpoints initial_load_model_only initial_load_in_hf
                initial_load_in_hf_quantized last_save_model_only last_save_in_hf
                enable_first_step_checkpoint create_seed_checkpoint load_only
            str: folder initial_load_path
            int: interval keep_latest_k load_step
            float16|bfloat16|float32: export_dtype
            disabled|async|async_with_pinned_mem: async_mode
            list: exclude_from_loading
        """,
        "activation_checkpoint": """
            selective|full|memory_budget|none: mode
            str: selective_ac_option determinism_check
            list: per_op_sac_force_recompute_mm_shapes_by_fqns
            bool: early_stop visualize_memory_budget_pareto preserve_rng_state debug
            float: memory_budget
        """,
        "compile": """
            bool: enable
            list: components
            str: backend
        """,
        "quantize.linear.float8": """
            bool: enable_fsdp_float8_all_gather precompute_float8_dynamic_scale_for_fsdp emulate
            tensorwise|rowwise|rowwise_with_gw_hp: recipe_name
            list: filter_fqns
        """,
        "quantize.linear.mx": """
            triton|cuda|torch: mxfp8_dim1_cast_kernel_choice
            str: recipe_name
            list: filter_fqns
        """,
        "quantize.grouped_mm.float8": """
            list: fqns
        """,
        "quantize.grouped_mm.mx": """
            mxfp8: recipe_name
            list: fqns
        """,
        "comm": """
            int: init_timeout_seconds train_timeout_seconds trace_buf_size
            str: save_traces_folder save_traces_file_prefix
            default|fake_backend|local_tensor: mode
        """,
        "memory_estimation": """
            bool: enable disable_fake_mode
        """,
        "fault_tolerance": """
            bool: enable
            str: process_group semi_sync_method
            int: process_group_timeout_ms replica_id group_size min_replica_size
        """,
        "experimental": """
            str: custom_import custom_args_module
        """,
        "validation.dataloader": """
            int: num_workers prefetch_factor
            bool: persistent_workers pin_memory
        """,
        "validation": """
            bool: enable
            str: dataset dataset_path
            int: local_batch_size seq_len freq steps
        """,
        "debug": """
            int: seed
            bool: deterministic deterministic_warn_only moe_force_load_balance
        """,
    }
)

#: Sections of 0.3.0's Trainer.Config that `extra` may add to (torchtitan/config/configs.py, components/
#: checkpointer/, metrics.py, validate.py, dataloader.py and optimizer/, tools/profiler.py).
PYTHON_SECTIONS = _kinds(
    {
        "training": """
            int: local_batch_size global_batch_size seq_len steps gc_freq
            float: max_norm
            bool: enable_cpu_offload disable_cuda_graphs gc_debug
            bfloat16|float32: dtype mixed_precision_param
            float32: mixed_precision_reduce
        """,
        "parallelism": """
            int: data_parallel_replicate_degree data_parallel_shard_degree tensor_parallel_degree
                pipeline_parallel_degree pipeline_parallel_first_stage_less_layers
                pipeline_parallel_last_stage_less_layers pipeline_parallel_layers_per_stage
                pipeline_parallel_microbatch_size context_parallel_degree expert_parallel_degree
            default|always|never: fsdp_reshard_after_forward
            bool: enable_fsdp_symm_mem enable_sequence_parallel
            partial_dtensor|full_dtensor|spmd_types: spmd_backend
            lists: module_fqns_per_model_part
            str: pipeline_parallel_schedule pipeline_parallel_schedule_csv
                context_parallel_load_balancer context_parallel_ptrr_mask_key
        """,
        "optimizer": """
            for-loop|foreach|fused|fused_opt_states_bf16: implementation
        """,
        "lr_scheduler": """
            int: warmup_steps total_steps
            float: decay_ratio min_lr_factor
            linear|sqrt|cosine: decay_type
        """,
        "compile": """
            bool: enable enable_async_tensor_parallel
            list: components
            str: backend
        """,
        "comm": """
            int: init_timeout_seconds train_timeout_seconds trace_buf_size
            str: save_traces_folder save_traces_file_prefix
            default|fake_backend|local_tensor|torchcomms: mode
        """,
        "checkpoint": """
            bool: enable initial_load_model_only initial_load_in_hf initial_load_in_hf_quantized
                last_save_model_only last_save_in_hf enable_first_step_checkpoint
                create_seed_checkpoint load_only
            str: folder initial_load_path
            int: interval keep_latest_k load_step
            float16|bfloat16|float32: export_dtype
            list: exclude_from_loading
            disabled|async|async_with_pinned_mem: async_mode
        """,
        "metrics": """
            int: log_freq
            bool: enable_tensorboard disable_color_printing save_for_all_ranks enable_wandb
            str: save_tb_folder
        """,
        "profiler": """
            bool: enable_profiling enable_memory_snapshot
            str: save_traces_folder save_memory_snapshot_folder
            int: profile_freq profiler_repeat profiler_skip_first profiler_skip_first_wait
                profiler_active profiler_warmup memory_snapshot_freq memory_snapshot_max_entries
        """,
        "validator": """
            int: freq steps
            bool: enable
        """,
        "debug": """
            int: seed
            bool: spmd_typechecking deterministic deterministic_warn_only moe_force_load_balance
                detect_anomaly print_config enable_structured_logging
            str: save_config_file
        """,
        "dataloader": """
            int: num_workers prefetch_factor
            bool: persistent_workers pin_memory
        """,
    }
)

#: Setting of 0.2.2 -> its place in 0.3.0, where that is another one.
MOVED = {
    "parallelism.enable_async_tensor_parallel": "compile.enable_async_tensor_parallel",
} | {
    f"{before}.{key}": f"{after}.{key}"
    for before, after in (
        ("profiling", "profiler"),
        ("validation", "validator"),
        ("training.dataloader", "dataloader"),
        ("job", "debug"),
    )
    for key in SECTIONS[before]
    if key in PYTHON_SECTIONS[after]
}
