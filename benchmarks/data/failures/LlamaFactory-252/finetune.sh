CUDA_VISIBLE_DEVICES=0 python src/train_bash.py \
    --stage pt \
    --model_name_or_path open_llama_7b_v2 \
    --do_train \
    --dataset wiki_demo \
    --finetuning_type lora \
    # --quantization_bit 8 \ # for launching QLoRA
    --output_dir "./path_to_pt_checkpoint" \
    --per_device_train_batch_size 4 \
    --gradient_accumulation_steps 4 \
    --fp16
