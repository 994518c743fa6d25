#!/usr/bin/env bash
# reader only: placeholders are no bash, and are read on past.
DATA=<path to data>/file_text_document
VOCAB=<specify>
LAYERS=24
torchrun a.py --data $DATA --vocab $VOCAB --layers $LAYERS
