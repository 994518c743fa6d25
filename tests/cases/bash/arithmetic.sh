#!/usr/bin/env bash
# Integers as bash has them: cut quotients, signs, bases, comparison, ternary, assignment.
GPUS=8 NODES=4
WORLD=$((GPUS * NODES))
((COUNT = WORLD / 3))
let "LEFT = WORLD % 3"
((COUNT++))
HEX=$((0x10 + 2#101 + 010))
torchrun a.py $WORLD $COUNT $LEFT $HEX $((-7 / 2)) $((-7 % 3)) $((2 ** 10)) $((WORLD > 31 ? 1 : 0)) \
    $((1 || 0 && 0)) $(( ($GPUS + ${NODES}) * 2 )) $((~5 & 0xff)) $((1 << 4 | 1)) $((3 == 3 != 0))
