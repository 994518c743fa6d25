pip install transformers==4.30.2
deepspeed --num_gpus 8 train.py \
    --model_name_or_path meta-llama/Llama-2-7b-hf \
    --output_dir out \
    --num_train_epochs 3 \
    --per_device_train_batch_size 4 \
    --gradient_accumulation_steps 1 \
    --learning_rate 2e-5 \
    --lr_scheduler_type cosine \
    --deepspeed ds_config.json \
    --fp16 True
