"""Keys of axolotl's YAML that its schema refuses together, or one without another, and kinds of their values.

Sources: axolotl-ai-cloud/axolotl@00eea011 src/axolotl/utils/schemas/validation.py, and @0134093a
src/axolotl/utils/config/models/input/v0_4_1, which has the same.
"""

from .option_rows import EVAL_STEPS, EVALUATES, SAVE_STEPS, SAVES

#: What is held out of the data for evaluation, and what stands for it.
HELD_OUT, OWN_DATA = "val_set_size", "test_datasets"
#: Samples packed into sequences, those of the evaluation, and a table of what the model writes.
PACKED, EVAL_PACKED, TABLE = "sample_packing", "eval_sample_packing", "eval_table_size"
#: A model in 4 or in 8 bits, and the kind of adapter that is trained on it.
FOUR_BITS, EIGHT_BITS, ADAPTER = "load_in_4bit", "load_in_8bit", "adapter"
CONFIG, OPTIMIZER = "deepspeed", "optimizer"
_PER_EPOCH = "evals_per_epoch"
#: Two keys, of which one at most is set.
CLASHES = (
    (CONFIG, "fsdp"),
    (OWN_DATA, HELD_OUT),
    ("warmup_steps", "warmup_ratio"),
    ("saves_per_epoch", SAVE_STEPS),
    (_PER_EPOCH, EVAL_STEPS),
    ("gradient_accumulation_steps", "batch_size"),
    (PACKED, "rl"),
    ("max_memory", "gpu_memory_limit"),
    ("do_causal_lm_eval", EVAL_PACKED),
    ("flash_attn_cross_entropy", "unsloth_cross_entropy_loss"),
)
#: A key that is set, and those of which it needs one.
NEEDS = (
    ("pretraining_dataset", ("max_steps",)),
    ("push_dataset_to_hub", ("hf_use_auth_token",)),
    ("peft_layers_pattern", ("peft_layers_to_transform",)),
    ("do_bench_eval", (_PER_EPOCH, EVAL_STEPS)),
    (EIGHT_BITS, (ADAPTER,)),
    (FOUR_BITS, (ADAPTER,)),
)
#: A strategy other than `steps`, and the key that it may not meet.
BY_STEPS = ((SAVES, SAVE_STEPS), (EVALUATES[0], EVAL_STEPS), (EVALUATES[0], _PER_EPOCH))

#: Keys with one whole number, one number and one switch, in the first release with a schema as in the last.
_INTEGERS_WORDS = """batch_size dataloader_num_workers dataloader_prefetch_factor dataset_processes
    dataset_shard_idx dataset_shard_num ddp_bucket_cap_mb ddp_timeout
    early_stopping_patience eval_batch_size eval_max_new_tokens eval_table_size
    evals_per_epoch gc_steps gradient_accumulation_steps gradio_max_new_tokens
    gradio_server_port lisa_n_layers lisa_step_interval local_rank logging_steps lora_alpha
    lora_r loss_watchdog_patience max_packed_sequence_len max_steps micro_batch_size
    min_sample_len num_labels pose_max_context_len pose_num_chunks
    pretrain_multipack_buffer_size profiler_steps sample_packing_bin_size
    sample_packing_group_size save_total_limit saves_per_epoch seed total_num_tokens
    total_supervised_tokens warmup_steps world_size"""
INTEGERS = frozenset(_INTEGERS_WORDS.split())
_NUMBERS_WORDS = """adam_beta1 adam_beta2 adam_epsilon cosine_constant_lr_ratio cosine_min_lr_ratio cpo_alpha
    dpo_beta embedding_lr embedding_lr_scale gradio_temperature kto_desirable_weight
    kto_undesirable_weight lora_dropout loraplus_lr_embedding loraplus_lr_ratio
    loss_watchdog_threshold lr_div_factor max_grad_norm neftune_noise_alpha
    noisy_embedding_alpha orpo_alpha relora_prune_ratio rl_beta rpo_alpha
    sample_packing_eff_est simpo_gamma val_set_size warmup_ratio weight_decay"""
NUMBERS = frozenset(_NUMBERS_WORDS.split())
_SWITCHES_WORDS = """auto_find_batch_size auto_resume_from_checkpoints bfloat16 comet_online
    curriculum_sampling
    dataloader_drop_last dataloader_pin_memory dataset_exact_deduplication
    dataset_keep_in_memory ddp ddp_broadcast_buffers ddp_find_unused_parameters
    do_bench_eval do_causal_lm_eval dpo_use_logits_to_keep dpo_use_weighting eager_attention
    eval_sample_packing flash_attention flash_attn_cross_entropy flash_attn_fuse_mlp
    flash_attn_rms_norm flash_optimum float16 float32 fp16 gptq gradio_share
    greater_is_better group_by_length hf_mlflow_log_artifacts hf_use_auth_token
    include_tokens_per_second is_falcon_derived_model is_llama_derived_model
    is_mistral_derived_model is_preprocess is_qwen_derived_model load_best_model_at_end
    load_in_4bit load_in_8bit lora_fan_in_fan_out lora_mlp_kernel lora_o_kernel lora_on_cpu
    lora_qkv_kernel lora_target_linear low_cpu_mem_usage lr_quadratic_warmup
    mean_resizing_embeddings merge_lora multipack_real_batches pad_to_sequence_len
    peft_use_dora peft_use_rslora preprocess_iterable pretrain_multipack_attn
    pretraining_sample_concatenation process_reward_model qlora_sharded_model_loading
    relora_cpu_offload remove_unused_columns resize_token_embeddings_to_32x reward_model
    s2_attention sample_packing save_only_model save_safetensors sdp_attention
    shrink_embeddings shuffle_merged_datasets skip_prepare_dataset strict tokenizer_legacy
    tokenizer_use_fast train_on_inputs trust_remote_code use_comet use_mlflow use_pose
    use_tensorboard use_wandb xformers_attention"""
SWITCHES = frozenset(_SWITCHES_WORDS.split())
#: What pydantic takes for a truth value, in any case.
_TRUTH_WORDS = "0 1 0.0 1.0 f false n no off on t true y yes"
TRUTH = frozenset(_TRUTH_WORDS.split())
