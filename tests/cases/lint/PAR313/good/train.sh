torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --step-batch-size-schedule "0:128 1B:1024"
