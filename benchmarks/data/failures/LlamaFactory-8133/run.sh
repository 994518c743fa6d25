CUDA_VISIBLE_DEVICES=0 llamafactory-cli train \
    --stage sft \
    --do_train \
    --finetuning_type lora \
    --output_dir ../saves/qwen3 \
    --per_device_train_batch_size 2 \
    --save_steps 100 \
    --eval_steps 50 \
    --load_best_model_at_end \
    --fp16
