torchrun --nproc_per_node 4 -m FlagEmbedding.finetune.embedder.encoder_only.m3 \
    --model_name_or_path BAAI/bge-m3 \
    --train_data ./train.jsonl \
    --output_dir ./out \
    --per_device_train_batch_size 2 \
    --bf16 \
    --deepspeed ds_stage0.json
