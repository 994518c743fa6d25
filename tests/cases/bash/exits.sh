#!/usr/bin/env bash
# What stands behind an exit is not run.
if [ "$1" = stop ]; then
    exit 1
fi
check() { [ -n "$1" ] || exit 1; }
check given
torchrun a.py
exit 0
torchrun never.py
