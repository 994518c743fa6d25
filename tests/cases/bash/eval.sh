#!/usr/bin/env bash
# eval parses what the words say once more.
PATHS="'/one path'"
full="torchrun a.py --data $PATHS \
    --more"
eval $full
eval "$full" --second
cmd=(torchrun b.py "a b")
"${cmd[@]}" --array
