#!/usr/bin/env bash
# A child knows what is exported, and nothing else.
export KNOWN=1
HIDDEN=2
declare -x ALSO=3
bash -c 'torchrun a.py "[$KNOWN]" "[${HIDDEN:-}]" "[$ALSO]"'
GIVEN=4 bash -c 'torchrun b.py "[$GIVEN]"'
export HIDDEN
bash -c 'torchrun c.py "[$HIDDEN]"'
unset KNOWN
bash -c 'torchrun d.py "[${KNOWN:-gone}]"'
