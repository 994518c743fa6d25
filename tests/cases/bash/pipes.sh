#!/usr/bin/env bash
# What surrounds a command: redirections, pipes, lists, background, groups, negation.
FOO=1 torchrun one.py --a > log.txt 2>&1 --b
torchrun two.py 2>&1 | tee -a log.txt
true && torchrun three.py || torchrun never.py
( cd / && torchrun four.py ) & wait
{ torchrun five.py; }
if ! false; then torchrun six.py; fi
nohup torchrun seven.py < /dev/null & wait
env X=1 torchrun eight.py
time torchrun nine.py
