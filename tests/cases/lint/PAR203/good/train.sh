torchrun --nproc-per-node 8 pretrain_gpt.py --pipeline-model-parallel-size 8 --num-layers 32 \
    --num-layers-per-virtual-pipeline-stage 2 --micro-batch-size 1 --global-batch-size 16
