accelerate launch --config_file accelerate.yaml --num_processes 8 --num_machines 1 trainer/scripts/train.py --output_dir output
