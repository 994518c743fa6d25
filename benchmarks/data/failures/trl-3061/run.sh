accelerate launch --num_processes 4 --num_machines 1 -m trl.scripts.grpo \
    --model_name_or_path Qwen/Qwen2.5-0.5B-Instruct \
    --dataset_name trl-lib/tldr \
    --output_dir out \
    --per_device_train_batch_size 1 \
    --gradient_accumulation_steps 1 \
    --num_generations 8
