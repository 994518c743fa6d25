#!/bin/bash
torchrun --nproc_per_node 8 train.py --model_name_or_path meta-llama/Llama-2-7b-hf --bf16 True --output_dir out \
  --gradient_checkpointing True --per_device_train_batch_size 2 --learning_rate 2e-5 \
  --fsdp "full_shard auto_wrap" --fsdp_config fsdp.json
