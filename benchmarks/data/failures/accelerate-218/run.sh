accelerate launch --config_file node0.yaml train.py --per_device_train_batch_size 4 --output_dir out
