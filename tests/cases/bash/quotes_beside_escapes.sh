#!/bin/bash
export RANK=1
export SCRIPT="torchrun --node_rank "\$RANK" --nnodes "2" \
    --nproc_per_node "$(( 2 * 8 ))" train.py"
PORT="29"\50"0"
bash -c "$SCRIPT --port $PORT"
NAME='a'\''b' torchrun train.py --name "$PORT"
OTHER="a "\$PORT" b" torchrun train.py --other $PORT
