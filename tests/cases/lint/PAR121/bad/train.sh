torchrun --nnodes 2 --nproc-per-node 8 pretrain_bert.py --pipeline-model-parallel-size 16 --num-layers 24
