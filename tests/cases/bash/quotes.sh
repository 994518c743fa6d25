#!/usr/bin/env bash
# Quotes in quotes, escapes, dollar quotes, and blanks.
A='single $A "x"'
B="double 'y' \$B \"z\" \\ \q"
C=$'tab\there'
D=un\ quoted\$D
E=mixed"dou ble"'sin gle'
torchrun "$A" "$B" "$C" "$D" $E "" '' "a"'b'"c" \--x
