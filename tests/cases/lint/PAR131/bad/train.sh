torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 8 --sequence-parallel \
    --seq-length 4100 --num-attention-heads 32
