torchrun --nproc-per-node 8 pretrain_gpt.py --hidden-size 4096 --num-layers 32 --use-megatron-fsdp \
    --ckpt-format fsdp_dtensor --data-parallel-sharding-strategy optim_grads
