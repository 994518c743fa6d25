#!/bin/bash
torchrun --standalone --nproc_per_node=8 west/bin/train.py --output_dir exp/a --bf16 True \
  --per_device_train_batch_size 1 --gradient_accumulation_steps 4 --max_steps 20000 --warmup_steps 2000 \
  --lr_scheduler_type cosine --learning_rate 3e-4 --deepspeed ds.json
