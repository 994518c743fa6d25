#!/usr/bin/env bash
# arguments: --tp 4 --name=run7 -n 2 rest
# Options that the script reads itself.
TP=1 NAME=none NODES=1
while [[ $# -gt 0 ]]; do
    case "$1" in
        --tp) TP="$2"; shift 2 ;;
        --name=*) NAME="${1#*=}"; shift ;;
        -n | --nodes) NODES=$2; shift; shift ;;
        *) REST="$1"; shift ;;
    esac
done
torchrun --nnodes $NODES a.py --tp $TP --name $NAME "$REST"
