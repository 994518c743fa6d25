#!/usr/bin/env bash
# arguments: -t 8 -v -l 40 data
# Options by getopts.
while getopts "t:l:v" letter; do
    case $letter in
        t) TP=$OPTARG ;;
        l) LAYERS=$OPTARG ;;
        v) VERBOSE=--verbose ;;
    esac
done
shift $((OPTIND - 1))
torchrun a.py --tp $TP --layers $LAYERS $VERBOSE --data $1
