#!/usr/bin/env bash
# Programs whose output follows from their words.
HERE=/opt/runs/job.sh
GPUS="0,1,2,3"
A=$(basename "$HERE" .sh)
B=`dirname $HERE`
C=$(echo "$GPUS" | tr ',' '\n' | wc -l)
D=$(echo $GPUS | cut -d, -f2)
E=$(expr 3 + 4)
F=$(echo "12 * 4 / 5" | bc)
G=$(printf '%s-%s' one two)
H=$(echo "template NAME here" | sed "s/NAME/$A/")
I=$(seq 3 | head -n 2)
J=$(echo $(echo deep $(echo deeper)))
torchrun a.py $A $B $C $D $E $F $G "$H" "$I" "$J"
