mpirun -np 16 python train.py --deepspeed --deepspeed_config ds_config.json
