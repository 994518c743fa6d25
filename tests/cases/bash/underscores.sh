#!/usr/bin/env bash
# Numbers as Python reads them, and signs.
SAMPLES=1_000_000
torchrun a.py --samples $SAMPLES --ramp 16 16 6_000_000 --lr 1e-4 --low -1 --split 949,50,1
