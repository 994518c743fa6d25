deepspeed --num_gpus 2 run_translation.py --deepspeed ds_config.json \
    --model_name_or_path t5-small --output_dir out --do_train \
    --per_device_train_batch_size 2 --gradient_accumulation_steps 2 --fp16
