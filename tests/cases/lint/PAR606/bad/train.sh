NNODES=2 RANK=0 MASTER_ADDR=host1 MASTER_PORT=29500 llamafactory-cli train config.yaml
