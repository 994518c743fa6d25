"""Words that people write instead of the language's words: those of frameworks and of SLURM."""

#: Settings, without regard to capitals and hyphens.
SETTINGS = {
    "seq_length": "seq_len", "sequence_length": "seq_len", "max_seq_len": "seq_len",
    "max_seq_length": "seq_len", "context_length": "seq_len", "context": "seq_len", "block_size": "seq_len",
    "batch_size": "global_batch", "global_batch_size": "global_batch", "gbs": "global_batch",
    "batch": "global_batch", "train_batch_size": "global_batch",
    "train_tokens": "tokens", "total_tokens": "tokens", "num_tokens": "tokens",
    "max_steps": "steps", "train_steps": "steps", "train_iters": "steps", "num_steps": "steps",
    "iterations": "steps", "iters": "steps",
    "dtype": "precision", "mixed_precision": "precision", "torch_dtype": "precision",
    "lr": "learning_rate", "min_lr": "min_learning_rate", "lr_scheduler": "schedule",
    "lr_scheduler_type": "schedule", "lr_decay_style": "schedule",
    "warmup_steps": "warmup", "lr_warmup_iters": "warmup", "num_warmup_steps": "warmup",
    "gradient_clipping": "clip_grad", "max_grad_norm": "clip_grad", "grad_clip": "clip_grad",
    "adam_beta1": "beta1", "adam_beta2": "beta2", "wd": "weight_decay",
    "save_interval": "checkpoint_interval", "save_steps": "checkpoint_interval",
    "num_layers": "layers", "n_layers": "layers", "n_layer": "layers", "num_hidden_layers": "layers",
    "hidden_size": "hidden", "d_model": "hidden", "n_embd": "hidden", "dim": "hidden",
    "num_attention_heads": "heads", "num_heads": "heads", "n_heads": "heads", "n_head": "heads",
    "num_key_value_heads": "kv_heads", "n_kv_heads": "kv_heads", "num_query_groups": "kv_heads",
    "intermediate_size": "ffn", "ffn_hidden_size": "ffn", "d_ff": "ffn", "n_inner": "ffn",
    "vocab_size": "vocab", "padded_vocab_size": "vocab", "hidden_act": "activation",
    "tie_word_embeddings": "tied", "rms_norm_eps": "norm_eps", "layer_norm_epsilon": "norm_eps",
    "max_position_embeddings": "max_positions", "sliding_window": "window", "rotary_base": "rope_theta",
    "num_experts": "experts", "n_routed_experts": "experts", "num_local_experts": "experts",
    "top_k": "topk", "num_experts_per_tok": "topk", "moe_router_topk": "topk",
    "moe_intermediate_size": "expert_ffn", "n_shared_experts": "shared_experts",
    "num_nodes": "nodes", "n_nodes": "nodes", "nnodes": "nodes", "gpu_type": "gpu",
    "num_gpus_per_node": "gpus_per_node", "ntasks_per_node": "gpus_per_node",
    "nproc_per_node": "gpus_per_node",
    "bandwidth": "network", "interconnect": "network",
    "walltime": "time", "time_limit": "time", "queue": "partition", "name": "job_name",
    "data_path": "data", "dataset": "data", "train_data_path": "data",
    "ctx_len": "seq_len", "max_length": "seq_len", "n_ctx": "seq_len", "context_window": "seq_len",
    "num_experts_per_token": "topk", "experts_per_token": "topk", "lr_decay": "schedule",
    "save_every": "checkpoint_interval", "checkpoint_every": "checkpoint_interval",
    "eval_every": "eval_interval", "eval_steps": "eval_interval", "log_every": "log_interval",
    "logging_steps": "log_interval",
    "infiniband": "network", "network_bandwidth": "network", "wandb_project": "wandb",
    "devices": "gpus_per_node", "num_gpus_per_machine": "gpus_per_node", "sequence_len": "seq_len",
    "cutoff_len": "seq_len", "max_norm": "clip_grad", "num_active_experts": "topk",
    "num_kv_heads": "kv_heads", "training_steps": "steps", "total_train_batch_size": "global_batch",
    "lr_scheduler_warmup_steps": "warmup", "dataset_name": "data", "dataset_path": "data",
    "hosts": "nodes", "machines": "nodes", "servers": "nodes", "node_count": "nodes", "count": "nodes",
    "nvlink_bandwidth": "nvlink", "nvlink_bw": "nvlink", "memory_bw": "memory_bandwidth",
    "gpu_memory": "memory", "vram": "memory", "memory_per_gpu": "memory", "gpu_mem": "memory",
    "price_per_hour": "price", "cost_per_hour": "price", "hourly_price": "price", "gpu_price": "price",
    "price_per_gpu_hour": "price", "cost_per_gpu_hour": "price", "hourly_rate": "price",
    "max_target_length": "seq_len", "model_max_length": "seq_len", "max_words": "seq_len",
    "sft_type": "tune", "train_type": "tune", "finetuning_type": "tune", "tuner_type": "tune",
    "save_total_limit": "keep_checkpoints", "report_to": "tracker", "num_machines": "nodes",
}  # fmt: skip

#: Numbers of GPUs, which a cluster has as nodes.
GPUS = ("gpus", "num_gpus", "n_gpus", "gpu_count", "world_size")

#: Lengths of a run in time, which follow from its tokens.
LENGTHS = ("duration", "training_time", "train_time", "days", "hours", "max_time", "wall_time")

#: What the search decides, and a goal may require.
DECISIONS = {
    "tensor_parallel": "tp", "tensor_parallel_size": "tp", "tensor_parallel_degree": "tp",
    "tensor_model_parallel_size": "tp", "tp_size": "tp",
    "pipeline_parallel": "pp", "pipeline_parallel_size": "pp", "pipeline_parallel_degree": "pp",
    "pipeline_model_parallel_size": "pp", "pp_size": "pp",
    "context_parallel": "cp", "context_parallel_size": "cp", "context_parallel_degree": "cp",
    "expert_parallel": "ep", "expert_parallel_size": "ep", "expert_model_parallel_size": "ep",
    "data_parallel": "dp", "data_parallel_size": "dp", "dp_size": "dp",
    "micro_batch_size": "micro_batch", "mbs": "micro_batch", "per_device_train_batch_size": "micro_batch",
    "train_micro_batch_size_per_gpu": "micro_batch", "local_batch_size": "micro_batch",
    "gradient_accumulation_steps": "microbatches", "gradient_accumulation": "microbatches",
    "zero_stage": "zero", "activation_checkpointing": "recompute", "recompute_granularity": "recompute",
    "gradient_checkpointing": "recompute", "activation_recomputation": "recompute", "remat": "recompute",
    "activation_checkpoint": "recompute", "recomputation": "recompute", "fsdp": "zero", "sharding": "zero",
    "zero_optimization": "zero", "num_microbatches": "microbatches", "grad_accum": "microbatches",
    "stage": "zero", "fsdp_mode": "zero", "accumulate_grad_batches": "microbatches", "ep_size": "ep",
    "cp_size": "cp", "ulysses_sequence_parallel_size": "cp", "sequence_parallel_size": "cp",
    "per_device_batch_size": "micro_batch", "device_batch_size": "micro_batch", "accum_iter": "microbatches",
    "gradient_accumulate_every": "microbatches", "model_parallel_size": "tp", "offload_optimizer": "offload",
    "cpu_offload": "offload", "fsdp_offload_params": "offload",
    "data_parallel_shard_degree": "dp_shard", "data_parallel_replicate_degree": "dp_replicate",
    "expert_tensor_parallel_size": "etp", "virtual_pipeline_model_parallel_size": "vpp",
    "sharding_strategy": "zero", "use_distributed_optimizer": "zero", "selective_ac_option": "recompute",
}  # fmt: skip

#: Quantities of a goal.
QUANTITIES = {
    "throughput": "tokens_per_second", "tokens_per_sec": "tokens_per_second", "tps": "tokens_per_second",
    "utilization": "mfu", "flops": "mfu", "price": "cost", "money": "cost", "dollars": "cost",
    "time": "days", "duration": "days", "hours": "days", "training_time": "days", "wall_time": "days",
    "time_to_train": "days", "runtime": "days", "speed": "tokens_per_second", "performance": "mfu",
    "iteration_time": "step_time", "time_per_step": "step_time", "mem": "memory", "gpu_memory": "memory",
    "training_cost": "cost", "total_cost": "cost", "train_time": "days", "wall_clock": "days",
    "wallclock": "days", "time_to_finish": "days",
    "bubbles": "bubble", "oom": "risk", "oom_risk": "risk",
    "budget": "cost", "deadline": "days", "vram": "memory", "tokens_per_s": "tokens_per_second",
}  # fmt: skip

#: Clauses of a goal.
CLAUSES = {
    "max": "maximize", "min": "minimize", "optimize": "maximize", "optimise": "maximize",
    "assert": "require", "must": "require", "ensure": "require", "constraint": "require",
    "constrain": "require", "subject_to": "require", "avoid": "forbid", "never": "forbid", "want": "prefer",
}  # fmt: skip

#: Values of settings that take a word.
WORDS = {
    "bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float8": "fp8",
    "adamw": "adam", "adam_8bit": "adam8bit", "rotary": "rope", "rope_embedding": "rope",
    "rms_norm": "rmsnorm", "layer_norm": "layernorm", "flash_attention": "flash", "flash_attn": "flash",
    "use_flash_attention": "flash", "use_flash_attn": "flash",
    "swiglu": "silu", "swish": "silu", "geglu": "gelu", "cosine_annealing": "cosine",
    "bf16_mixed": "bf16", "16_mixed": "fp16", "amp": "bf16", "16": "fp16", "8": "fp8", "adamw_torch": "adam",
    "adamw_torch_fused": "adam", "adamw_8bit": "adam8bit", "adamw_bnb_8bit": "adam8bit",
    "paged_adamw_8bit": "adam8bit", "sdpa": "flash", "flash_attention_2": "flash", "eager": "unfused",
    "cosine_with_min_lr": "cosine", "constant_with_warmup": "constant", "warmup_stable_decay": "wsd",
}  # fmt: skip

#: Values of decisions that take a word.
CHOSEN = {
    "cpu": "optimizer",
    "nvme": "all",
    "true": "full",
    "false": "none",
    "block": "full",
    "off": "none",
    "no": "none",
}

#: Values of decisions, or of settings that say them, in frameworks' words -> the same here.
DECIDED = {
    "recompute": {"true": "full", "false": "none", "op": "selective", "block": "full", "uniform": "full"},
    "use_distributed_optimizer": {"true": "1", "false": "0"},
    "zero": {"true": "3", "false": "0", "full_shard": "3", "shard_grad_op": "2", "no_shard": "0",
             "hybrid_shard": "3", "auto": "3", "full_shard auto_wrap": "3",
             "shard_grad_op auto_wrap": "2", "hybrid_shard auto_wrap": "3"},
    "offload": {"true": "optimizer", "cpu": "optimizer", "false": "none", "none": "none"},
    "fsdp_offload_params": {"true": "all", "false": "none"},
}  # fmt: skip

#: What other languages write for `none`.
NOTHING = ("none", "null", "nil", "undefined")

#: `true` and `false`, without regard to capitals.
TRUTHS = {
    "true": "true", "yes": "true", "on": "true", "enabled": "true",
    "false": "false", "no": "false", "off": "false", "disabled": "false", "none": "false",
}  # fmt: skip

BLOCKS = {
    "training": "train", "trainer": "train", "hardware": "cluster", "system": "cluster",
    "architecture": "model", "objective": "goal", "constraints": "goal",
    "framework": "target", "backend": "target", "device": "gpu", "accelerator": "gpu",
}  # fmt: skip

#: What joins conditions in other languages -> what is the same here.
JOINS = {
    "xor": "(a or b) and not (a and b)", "nand": "not (a and b)", "nor": "not (a or b)",
    "implies": "not (a) or b", "iff": "a and b or not (a or b)", "unless": "a or b",
    "if": "a or not (b)", "when": "a or not (b)",
}  # fmt: skip
