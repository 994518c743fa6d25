#!/usr/bin/env bash
# Functions with arguments, own variables, return, and one that launches.
TP=1
pick() {
    local size=$1 TP=99
    if [ "$size" = big ]; then
        CHOSEN="--layers 80"
        return 0
    fi
    CHOSEN="--layers 8"
}
function run {
    shift
    torchrun a.py "$@" --count $# --tp $TP
}
pick big
run dropped $CHOSEN "x y"
