#!/usr/bin/env bash
# Comments that continue nothing, and one that cuts a command.
LAYERS=24    # LAYERS=48
#LAYERS=96
# a comment with a backslash \
HEADS=16
torchrun a.py \
    --layers $LAYERS \
    --heads $HEADS
    # --seq 2048 \
: torchrun dead.py --layers 1
echo torchrun dead.py --layers 2
