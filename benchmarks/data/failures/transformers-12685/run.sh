python -m torch.distributed.run --nproc_per_node=2 examples/pytorch/translation/run_translation.py \
    --model_name_or_path t5-small --output_dir output_dir --adam_epsilon 1e-06 --do_train \
    --learning_rate 3e-5 --per_device_train_batch_size 16 \
    --load_best_model_at_end \
    --warmup_steps 50 --max_train_samples 50 --save_steps 1
