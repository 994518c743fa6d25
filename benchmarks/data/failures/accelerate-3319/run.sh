deepspeed --no_local_rank --hostfile /etc/mpi/hostfile --launcher openmpi --master_port 29500 --num_gpus 1 train.py \
    --output_dir out --per_device_train_batch_size 2 --gradient_accumulation_steps 8
