accelerate launch --config_file ./accelerate_config.yaml src/train_bash.py \
    --stage sft \
    --do_train \
    --output_dir out \
    --per_device_train_batch_size 4 \
    --gradient_accumulation_steps 8 \
    --fp16
