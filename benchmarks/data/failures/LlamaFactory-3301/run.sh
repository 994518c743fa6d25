deepspeed --num_nodes 2 \
    --num_gpus 8 \
    --master_addr 10.0.0.1 \
    --hostfile hostfile \ 
    src/train_bash.py \
    --deepspeed ds_z3_config.json \
    --stage sft \
    --do_train True \
    --output_dir saves \
    --per_device_train_batch_size 4 \
    --gradient_accumulation_steps 8 \
    --fp16 True
