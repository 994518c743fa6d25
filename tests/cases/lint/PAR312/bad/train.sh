torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --train-iters 1000 --train-samples 100000
