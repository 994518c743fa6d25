#!/bin/bash
accelerate launch --config_file fsdp.yaml sft.py --model_name_or_path Qwen/Qwen3-8B --output_dir out \
  --per_device_train_batch_size 1 --gradient_accumulation_steps 8 --bf16 --max_length 8192
