#!/bin/bash
set -e
export CUDA_DEVICE_MAX_CONNECTIONS=1

TP=2
PP=4
EP=8
VPP_LAYERS=2
NUM_LAYERS=32
HIDDEN=2048
HEADS=32
KV=4
SEQ=4096
MBS=1
GBS=512
EXPERTS=64
TOPK=6

DISTRIBUTED_ARGS="--nnodes 8 --nproc_per_node 8 --node_rank ${NODE_RANK:-0} --master_addr ${MASTER_ADDR:?} --master_port 12345"

MODEL_ARGS="
    --use-mcore-models \
    --num-layers $NUM_LAYERS \
    --hidden-size $HIDDEN \
    --ffn-hidden-size 8192 \
    --num-attention-heads $HEADS \
    --group-query-attention \
    --num-query-groups $KV \
    --seq-length $SEQ \
    --max-position-embeddings $SEQ \
    --swiglu --normalization RMSNorm --disable-bias-linear \
    --position-embedding-type rope \
    --untie-embeddings-and-output-weights \
    --qk-layernorm
"
MOE_ARGS="
    --num-experts $EXPERTS \
    --moe-ffn-hidden-size 1408 \
    --moe-router-topk $TOPK \
    --moe-router-load-balancing-type aux_loss \
    --moe-aux-loss-coeff 1e-2 \
    --moe-token-dispatcher-type alltoall \
    --moe-grouped-gemm \
    --moe-shared-expert-intermediate-size 2816
"
PARALLEL_ARGS="
    --tensor-model-parallel-size $TP \
    --pipeline-model-parallel-size $PP \
    --num-layers-per-virtual-pipeline-stage $VPP_LAYERS \
    --expert-model-parallel-size $EP \
    --sequence-parallel \
    --use-distributed-optimizer
"
TRAIN_ARGS="
    --micro-batch-size $MBS \
    --global-batch-size $GBS \
    --train-samples 20000000 \
    --lr-decay-samples 19000000 \
    --lr-warmup-samples 200000 \
    --lr 2e-4 --min-lr 2e-5 --lr-decay-style cosine \
    --weight-decay 0.1 --clip-grad 1.0 \
    --adam-beta1 0.9 --adam-beta2 0.95 \
    --bf16 \
    --recompute-granularity selective
"
DATA_ARGS="--mock-data --tokenizer-type NullTokenizer --vocab-size 131072 --split 99,1,0"
LOG_ARGS="--log-interval 1 --eval-interval 500 --eval-iters 5 --save-interval 500 --save ckpt --load ckpt"

torchrun $DISTRIBUTED_ARGS pretrain_gpt.py $MODEL_ARGS $MOE_ARGS $PARALLEL_ARGS $TRAIN_ARGS $DATA_ARGS $LOG_ARGS
