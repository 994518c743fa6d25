torchrun --nnodes 16 --nproc-per-node 8 pretrain_gpt.py --pipeline-model-parallel-size 8 --num-layers 80 \
    --num-layers-per-virtual-pipeline-stage 2
