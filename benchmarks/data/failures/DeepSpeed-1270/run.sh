deepspeed --num_gpus 4 run_ner_crf.py --deepspeed_config ds_config.json --data_dir data
