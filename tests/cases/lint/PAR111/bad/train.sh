torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 8 --num-layers 60 \
    --hidden-size 6656 --num-attention-heads 52 --kv-channels 128
