torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --overlap-param-gather \
    --use-distributed-optimizer
