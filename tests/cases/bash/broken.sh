#!/usr/bin/env bash
# reader only: an error in the middle does not hide what stands around it.
LAYERS=24
if then fi )
torchrun a.py --layers $LAYERS
