#!/usr/bin/env bash
set -euo pipefail
STAGE=2
MICRO=1
ACCUMULATION=16
LR=5e-6

cat > ds.json <<JSON
{
  "train_micro_batch_size_per_gpu": ${MICRO},
  "gradient_accumulation_steps": ${ACCUMULATION},
  "gradient_clipping": 1.0,
  "zero_optimization": {
    "stage": ${STAGE},
    "offload_optimizer": {"device": "cpu", "pin_memory": true},
    "overlap_comm": true,
    "contiguous_gradients": true,
    "reduce_bucket_size": 500000000
  },
  "fp16": {
    "enabled": true,
    "loss_scale": 0,
    "loss_scale_window": 1000,
    "initial_scale_power": 16,
    "hysteresis": 2,
    "min_loss_scale": 1
  },
  "optimizer": {
    "type": "AdamW",
    "params": {"lr": ${LR}, "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 0.0}
  },
  "scheduler": {
    "type": "WarmupLR",
    "params": {"warmup_min_lr": 0, "warmup_max_lr": ${LR}, "warmup_num_steps": 100}
  }
}
JSON

ARGS=(
  --model_name_or_path meta-llama/Llama-2-7b-hf
  --data_path /data/tokens.bin
  --output_dir /runs/llama2
  --do_train
  --fp16
  --per_device_train_batch_size "$MICRO"
  --gradient_accumulation_steps "$ACCUMULATION"
  --learning_rate "$LR"
  --warmup_steps 100
  --num_train_epochs 2
  --lr_scheduler_type constant_with_warmup
  --save_strategy epoch
  --logging_steps 10
  --report_to none
  --deepspeed ds.json
)
deepspeed --num_gpus=8 train.py "${ARGS[@]}"
