torchrun --nproc-per-node 8 pretrain_gpt.py --hidden-size 4096 --num-layers 24 \
    --recompute-granularity full \
    --recompute-method uniform --recompute-num-layers 6
