FORCE_TORCHRUN=1 llamafactory-cli train qwen3_lora_sft.yaml
