set -x
deepspeed --num_gpus 7 --module openrlhf.cli.train_sft \
    --train_batch_size 256 \
    --micro_train_batch_size 2 \
    --pretrain meta-llama/Meta-Llama-3-8B \
    --save_path ./checkpoint/llama3-8b-sft \
    --zero_stage 2 \
    --bf16
