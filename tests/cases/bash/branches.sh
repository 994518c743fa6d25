#!/usr/bin/env bash
# Branches that are decided, with every kind of test.
SIZE=7B FLAG=true COUNT=3
if [ "$SIZE" = 7B ]; then LAYERS=32; elif [ $SIZE = 13B ]; then LAYERS=40; else LAYERS=1; fi
if [[ $SIZE == 7* && ! $FLAG == false ]]; then STAR=yes; fi
if (( COUNT > 2 )) && [ -z "$NOTHING" ]; then BIG=1; fi
if [[ $SIZE =~ ^[0-9]+B$ ]]; then MATCH=1; fi
if test "$COUNT" -ge 3 -a -n "$FLAG"; then TEST=1; fi
if [ "$FLAG" != true ] || [ $COUNT -lt 3 ]; then WRONG=1; else RIGHT=1; fi
case "$SIZE" in
    1B | 3B) HEADS=8 ;;
    [67]B) HEADS=32 ;;
    *) HEADS=0 ;;
esac
torchrun a.py $LAYERS "$STAR" "$BIG" "$MATCH" "$TEST" "${WRONG:-unset}" "$RIGHT" $HEADS
