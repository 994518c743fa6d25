deepspeed --num_gpus 2 run_clm.py --deepspeed ds_config.json --output_dir out --do_train --per_device_train_batch_size 2
