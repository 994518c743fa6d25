accelerate launch --config_file accelerate.yaml train.py --output_dir out --per_device_train_batch_size 2
