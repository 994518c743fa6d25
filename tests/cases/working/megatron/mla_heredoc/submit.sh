#!/usr/bin/env bash
# Writes the script of the run with its numbers, and runs it.
set -euo pipefail
LAYERS=28
HEADS=16
PP=2
EP=16
GBS=1024

cat > run_mla.sh <<EOF
#!/usr/bin/env bash
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc_per_node 8 --nnodes 4 --node_rank \${NODE_RANK:-0} --master_addr \${MASTER_ADDR:?} --master_port 29511 \\
    pretrain_gpt.py \\
    --tensor-model-parallel-size 1 \\
    --pipeline-model-parallel-size ${PP} \\
    --expert-model-parallel-size ${EP} \\
    --multi-latent-attention \\
    --q-lora-rank 1536 \\
    --kv-lora-rank 512 \\
    --qk-head-dim 128 \\
    --qk-pos-emb-head-dim 64 \\
    --v-head-dim 128 \\
    --num-layers ${LAYERS} \\
    --hidden-size 2048 \\
    --ffn-hidden-size 10944 \\
    --num-attention-heads ${HEADS} \\
    --seq-length 4096 \\
    --max-position-embeddings 4096 \\
    --position-embedding-type rope \\
    --normalization RMSNorm \\
    --swiglu \\
    --disable-bias-linear \\
    --untie-embeddings-and-output-weights \\
    --num-experts 64 \\
    --moe-ffn-hidden-size 1408 \\
    --moe-router-topk 6 \\
    --moe-router-score-function sigmoid \\
    --moe-router-enable-expert-bias \\
    --moe-router-bias-update-rate 1e-3 \\
    --moe-router-load-balancing-type seq_aux_loss \\
    --moe-aux-loss-coeff 1e-4 \\
    --moe-router-dtype fp32 \\
    --moe-token-dispatcher-type alltoall \\
    --moe-grouped-gemm \\
    --micro-batch-size 2 \\
    --global-batch-size ${GBS} \\
    --train-iters 50000 \\
    --lr 2.4e-4 --min-lr 2.4e-5 --lr-decay-style WSD \\
    --lr-wsd-decay-style exponential \\
    --lr-wsd-decay-iters 5000 \\
    --lr-warmup-iters 2000 \\
    --bf16 \\
    --use-distributed-optimizer \\
    --overlap-grad-reduce \\
    --overlap-param-gather \\
    --recompute-granularity selective \\
    --recompute-modules mla_up_proj moe_act layernorm \\
    --mock-data \\
    --tokenizer-type NullTokenizer --vocab-size 102400 \\
    --save-interval 500 --save /checkpoints/mla --eval-iters 0
EOF
bash run_mla.sh
