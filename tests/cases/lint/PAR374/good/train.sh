torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 \
    --num-attention-heads 32 --seq-length 4096 \
    --max-position-embeddings 4096 --micro-batch-size 1 --train-iters 1000 --lr 3e-4 \
    --tokenizer-type NullTokenizer --vocab-size 32000
