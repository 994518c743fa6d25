#!/usr/bin/env bash
# Loops over words, numbers and arguments, with break and continue.
LIST=""
for item in a b "c d" {1..3}; do
    [ "$item" = b ] && continue
    LIST="$LIST,$item"
done
SUM=0
for ((i = 0; i < 5; i++)); do
    SUM=$((SUM + i))
    if ((i == 3)); then break; fi
done
N=1
while [ $N -lt 20 ]; do N=$((N * 2)); done
until ((N <= 4)); do ((N -= 5)); done
for each in $(seq 2 4); do LAST=$each; done
torchrun a.py "$LIST" $SUM $N $LAST
