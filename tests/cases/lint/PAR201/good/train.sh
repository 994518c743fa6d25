torchrun --nnodes 3 --nproc-per-node 8 pretrain_gpt.py --micro-batch-size 1 --global-batch-size 1008
