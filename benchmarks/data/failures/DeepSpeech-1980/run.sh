#!/usr/bin/env bash
nice -20 python3 DeepSpeech.py \
    --train_files data/clips/train.csv \
    --train_batch_size 150 \	# 48
    --dev_batch_size 150 \	# 48
    --epoch 0 \	# 33
    --learning_rate 0.0001 \
    --checkpoint_dir data/results/checkpoint/
