deepspeed --include localhost:0,1 finetune_clm_lora.py \
    --model_name_or_path FlagAlpha/Atom-7B \
    --per_device_train_batch_size 1 \
    --do_train \
    --output_dir out \
    --deepspeed ds_config_zero2.json \
    --bf16
