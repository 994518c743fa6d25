deepspeed --num_gpus 2 run_summarization.py --deepspeed ds_config.json \
    --model_name_or_path t5-small --output_dir out --per_device_train_batch_size 2 --learning_rate 5e-5 --fp16
