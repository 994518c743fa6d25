accelerate launch --num_processes 8 --mixed_precision bf16 --use_deepspeed --deepspeed_config_file ds_config.json dpo_training.py --output_dir out --per_device_train_batch_size 2
