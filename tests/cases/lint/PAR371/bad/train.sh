torchrun --nproc-per-node 8 pretrain_gpt.py --hidden-size 4096 --num-layers 32 --use-custom-fsdp \
    --data-parallel-sharding-strategy optim_grads
