torchrun --nproc-per-node 8 pretrain_gpt.py --pipeline-model-parallel-size 8 --num-layers 32 \
    --micro-batch-size 4 --global-batch-size 16
