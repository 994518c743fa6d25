"""Keys of a config.json that nothing of a plan depends on, with the reason; all others are read or named."""

from __future__ import annotations

_REASONS: dict[str, str] = {
    "which class of which release reads the file": """
        architectures model_type auto_map _name_or_path name_or_path transformers_version
        _attn_implementation attn_implementation _attn_implementation_autoset
        gradient_checkpointing unsloth_version unsloth_fixed""",
    "how the published weights are stored; a job says the type that it trains in": """
        torch_dtype dtype quantization_config compression_config""",
    "numbers of tokens that mean something": """
        bos_token_id eos_token_id pad_token_id sep_token_id cls_token_id unk_token_id decoder_start_token_id
        tokenizer_class image_token_id image_token_index boi_token_index eoi_token_index boi_token_id
        eoi_token_id""",
    "of text that is generated": """
        use_cache cache_implementation do_sample temperature top_p top_k max_length max_new_tokens min_length
        repetition_penalty length_penalty num_beams num_return_sequences no_repeat_ngram_size bad_words_ids
        forced_bos_token_id forced_eos_token_id early_stopping diversity_penalty num_beam_groups
        encoder_no_repeat_ngram_size prefix suppress_tokens begin_suppress_tokens
        exponential_decay_length_penalty remove_invalid_values typical_p task_specific_params""",
    "of what a forward pass returns": """
        output_attentions output_hidden_states output_router_logits output_scores return_dict
        return_dict_in_generate use_return_dict torchscript""",
    "of heads other than the language model's": """
        summary_activation summary_first_dropout summary_proj_to_labels summary_type summary_use_proj
        classifier_dropout id2label label2id num_labels problem_type finetuning_task""",
    "of images": """
        mm_tokens_per_image vision_feature_layer vision_feature_select_strategy""",
    "of an encoder, which a decoder does not have": """
        is_encoder_decoder is_decoder cross_attention_hidden_size tie_encoder_decoder""",
    "how matrices are divided or computed, which the plan decides": """
        pretraining_tp ep_size tp_plan chunk_size_feed_forward reorder_and_upcast_attn pruned_heads
        use_bfloat16 tf_legacy_loss""",
    "the order of a head's dimensions, which the reader of weights knows": """
        rope_interleave rope_interleaved use_rope_interleave""",
}
#: Key -> the reason why it is left out.
UNNEEDED: dict[str, str] = {
    key: reason for reason, keys in _REASONS.items() for key in keys.split()
}

#: Key -> values with which it says nothing that a model without the key would not be.
NEUTRAL: dict[str, tuple[object, ...]] = {
    "router_jitter_noise": (0, None),
    "input_jitter_noise": (0, None),
    "scale_attn_weights": (True,),
    "apply_residual_connection_post_layernorm": (False,),
    "lm_head_bias": (False,),
    "clip_qkv": (None,),
    "use_mrope": (False,),
    "full_attn_mod": (1,),
    "interpolate_factor": (1,),
    "for_llm_compressor": (False,),
}
