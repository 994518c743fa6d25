torchrun --nproc_per_node=2 --master_port 66660 train.py --pretrained --data_path data/toy_data.json
