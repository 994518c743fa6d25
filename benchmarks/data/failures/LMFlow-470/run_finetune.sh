deepspeed --num_gpus 6 --master_port 0 examples/finetune.py \
    --model_name_or_path gpt2 --output_dir out --per_device_train_batch_size 1 --learning_rate 2e-5 \
    --num_train_epochs 1 --bf16 --deepspeed ds_config_zero3.json
