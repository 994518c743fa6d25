#!/usr/bin/env bash
# Argument strings over several lines, appended to and put in front of, split where they are used.
LAYERS=12
ARGS=" \
    --layers $LAYERS \
    --path '/with quotes' \
"
ARGS="$ARGS --after"
ARGS="--before $ARGS"
ARGS+=" --last"
torchrun a.py $ARGS "$LAYERS"x --tail
