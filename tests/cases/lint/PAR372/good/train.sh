torchrun --nproc-per-node 8 pretrain_gpt.py --hidden-size 4096 --num-layers 32 \
    --tensor-model-parallel-size 8
