set -e
OUT=${OUT:-runs/llama}
deepspeed --num_gpus 4 --master_port 29601 train.py \
  --deepspeed configs/zero2.json \
  --model_name_or_path meta-llama/Llama-3.1-8B --data_path /data/tokens.bin --max_length 4096 \
  --output_dir "$OUT" --bf16 true --tf32 false \
  --per_device_train_batch_size 4 --gradient_accumulation_steps 4 \
  --learning_rate 2e-5 --weight_decay 0.0 --max_grad_norm 1.0 --warmup_steps 100 --max_steps 2000 \
  --lr_scheduler_type linear --optim adamw_torch \
  --eval_strategy no --save_strategy steps --save_steps 500 --logging_steps 10 --report_to none \
  --dataloader_num_workers 2 --seed 17
