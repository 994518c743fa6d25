deepspeed --num_gpus 8 --master_port 0 src/train_bash.py \
    --stage sft \
    --do_train \
    --deepspeed ds_config3.json \
    --output_dir out \
    --per_device_train_batch_size 1 \
    --bf16
