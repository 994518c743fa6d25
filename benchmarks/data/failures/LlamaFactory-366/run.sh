deepspeed --num_gpus 2 src/train_bash.py \
    --stage pt \
    --deepspeed deepspeed.json \
    --do_train \
    --output_dir out \
    --logging_steps 10 \
    --save_steps 1000 \
    --learning_rate 5e-5 \
    --num_train_epochs 3.0 \
    --fp16
