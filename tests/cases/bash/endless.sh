#!/usr/bin/env bash
# reader only: loops that never end, or that nobody can count.
COUNT=0
while true; do
    COUNT=$((COUNT + 1))
done
while ! ssh host true; do sleep 1; done
until [ -e /ready ]; do TRIES=$((TRIES + 1)); done
torchrun a.py --layers 24 --count $COUNT --tries $TRIES
