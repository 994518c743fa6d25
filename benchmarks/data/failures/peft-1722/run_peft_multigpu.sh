accelerate launch --config_file "configs.yaml" train.py \
--seed 100 \
--model_name_or_path "meta-llama/Llama-2-70b-hf" \
--dataset_name "smangrul/ultrachat-10k-chatml" \
--per_device_train_batch_size 8 \
--gradient_accumulation_steps 8 \ 
--output_dir "llama-sft-lora-multigpu" \
--lora_r 8
