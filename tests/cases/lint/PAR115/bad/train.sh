torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --num-experts 60 \
    --expert-model-parallel-size 8
