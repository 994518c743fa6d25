#!/bin/bash
set -eu
export CUDA_DEVICE_MAX_CONNECTIONS=1
SIZE=7b
USE_SP=1
CHECKPOINTS=full
case $SIZE in
  7b)  LAYERS=32; HIDDEN=4096; HEADS=32; FFN=11008 ;;
  13b) LAYERS=40; HIDDEN=5120; HEADS=40; FFN=13824 ;;
  *) echo "no size $SIZE" >&2; exit 1 ;;
esac
TP=2
PP=2
ARGS=(--num-layers $LAYERS --hidden-size $HIDDEN --num-attention-heads $HEADS --ffn-hidden-size $FFN)
ARGS+=(--seq-length 4096 --max-position-embeddings 4096)
ARGS+=(--tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP)
if [ "$USE_SP" = 1 ]; then
  ARGS+=(--sequence-parallel)
fi
if [ "$CHECKPOINTS" = full ]; then
  ARGS+=(--recompute-granularity full --recompute-method block --recompute-num-layers 8)
elif [ "$CHECKPOINTS" = selective ]; then
  ARGS+=(--recompute-granularity selective)
fi
ARGS+=(--micro-batch-size 4 --global-batch-size 64)
ARGS+=(--lr 1.5e-4 --train-iters 20000 --lr-decay-iters 19000 --lr-warmup-iters 500 --lr-decay-style cosine)
ARGS+=(--fp16 --initial-loss-scale 65536 --min-loss-scale 1.0)
ARGS+=(--swiglu --disable-bias-linear --normalization RMSNorm --position-embedding-type rope)
ARGS+=(--no-gradient-accumulation-fusion --attention-dropout 0 --hidden-dropout 0)
ARGS+=(--num-workers 4 --dataloader-type cyclic --seed 1234)
ARGS+=(--data-path /data/books_text_document --tokenizer-type Llama2Tokenizer --tokenizer-model /models/tokenizer.model)
ARGS+=(--save /checkpoints/$SIZE --save-interval 2000 --eval-iters 10 --eval-interval 2000)

torchrun --standalone --nnodes=1 --nproc-per-node=8 pretrain_gpt.py "${ARGS[@]}" "$@"
