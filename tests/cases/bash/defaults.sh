#!/usr/bin/env bash
# Defaults in all their forms, of variables that are set, empty and missing.
EMPTY=
SET=here
: "${ASSIGNED:=kept}"
torchrun a.py "${SET:-no}" "${EMPTY:-filled}" "${EMPTY-stays}|" "${MISSING:-one}" "${MISSING-two}" \
    "${SET:+yes}" "${EMPTY:+no}|" "${MISSING+no}|" "$ASSIGNED" ${MISSING:+--never} "${NESTED:-${SET}/${MISSING:-deep}}"
