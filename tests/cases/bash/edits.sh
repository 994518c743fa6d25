#!/usr/bin/env bash
# Prefixes, suffixes, replacements, substrings, case, lengths.
FILE=/data/run.v2/model.tar.gz
LIST=0,1,2,3
torchrun a.py "${FILE##*/}" "${FILE%.gz}" "${FILE%%.*}" "${FILE#/*/}" "${FILE/model/other}" "${LIST//,/ }" \
    "${#LIST}" "${FILE:1:4}" "${FILE: -2}" "${LIST:2}" "${FILE^^}" "${SET:-Big}" "${LIST/%3/9}" "${LIST/#0/7}"
