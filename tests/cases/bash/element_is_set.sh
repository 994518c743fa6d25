#!/bin/bash
declare -A KINDS=(["all"]="first second" ["one"]="first")
KEY="${1:-all}"
if [[ ! -v KINDS[$KEY] ]]; then
    echo "no kind $KEY"
    exit 1
fi
torchrun --nproc_per_node 2 train.py --kind "$KEY"
