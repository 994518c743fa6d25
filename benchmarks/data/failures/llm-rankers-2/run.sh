deepspeed --num_gpus 2 Rank-R1/train_grpo.py --output_dir out --per_device_train_batch_size 1 --learning_rate 1e-5 --bf16 --deepspeed ds_config.json
