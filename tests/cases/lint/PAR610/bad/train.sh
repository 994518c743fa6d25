torchrun --nnodes 1 --nproc-per-nodes 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096
