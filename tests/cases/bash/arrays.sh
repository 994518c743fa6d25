#!/usr/bin/env bash
# Arrays with comments, appends, slices, keys, and what quotes do to them.
BASE=(
    --layers 24   # not --layers 48
    # --heads 96
    --name "two words"
)
BASE+=(--more)
BASE+=(--and 1 --yet "2 3")
WORD=first
WORD+=(second third)
EMPTY=()
declare -A SIZE=([small]=1 [large]=9)
SIZE[huge]=99
SIZE+=([tiny]=0)
KEY=large
torchrun "${BASE[@]}" "${EMPTY[@]}" ${BASE[@]:0:2} "${#BASE[@]}" "${BASE[1]}" "${BASE[-1]}" "${SIZE[$KEY]}" \
    "${SIZE[huge]}" "${#SIZE[@]}" ${BASE[*]} "x${BASE[*]:2:1}" "${BASE[@]/--/++}" \
    "${SIZE[tiny]}" "${WORD[@]}"
