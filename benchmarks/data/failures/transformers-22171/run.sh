python -m torch.distributed.launch --nproc_per_node 2 run_clm.py \
    --model_name_or_path gpt2 --train_file train.txt --do_train \
    --per_device_train_batch_size 4 --output_dir out
