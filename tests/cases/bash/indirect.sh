#!/usr/bin/env bash
# Names in variables.
SIZE=7B
LAYERS_7B=32
NAME=LAYERS_$SIZE
LIST=(x y)
REF='LIST[@]'
torchrun a.py ${!NAME} "${!REF}"
