#!/usr/bin/env bash
# arguments: dsw 7B 3 4 5 6 7 8 9 ten eleven
# Arguments by number, beyond the ninth, and all of them.
if [ "$1" = dsw ]; then NODES=1; else NODES=$WORLD_SIZE; fi
SIZE=$2
shift 2
torchrun --nnodes $NODES a.py $SIZE ${8} ${9} "${10:-none}" "$#" "${@:2:2}" "$*"
