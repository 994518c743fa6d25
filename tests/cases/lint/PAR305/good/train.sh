torchrun --nproc-per-node 8 pretrain_gpt.py --use-megatron-fsdp --ckpt-format fsdp_dtensor
