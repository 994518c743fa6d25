#!/usr/bin/env bash
# reader only: what a machine decides. Both ways are taken, and what they share is kept.
if [ "$(hostname)" = a ]; then
    TP=4
    ARGS="$ARGS --fp8"
else
    TP=8
fi
if [ ! -f /data/vocab.json ]; then
    echo missing
    exit 1
fi
for file in $(ls /data); do COUNT=$((COUNT + 1)); done
while read -r line; do LAST=$line; done < list.txt
SAME=1
if nvidia-smi; then SAME=1; OTHER=2; fi
torchrun a.py --tp $TP --layers 24 $ARGS --same $SAME --other $OTHER --count $COUNT
