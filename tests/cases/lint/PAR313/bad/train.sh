torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --global-batch-size 1024 \
    --rampup-batch-size 128 128 1000000
