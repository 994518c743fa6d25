python3 -m verl.trainer.main_ppo \
    algorithm.adv_estimator=grpo \
    data.train_files=train.parquet data.val_files=test.parquet \
    data.train_batch_size=4 \
    actor_rollout_ref.actor.use_dynamic_bsz=False \
    actor_rollout_ref.actor.ppo_mini_batch_size=16 \
    actor_rollout_ref.actor.ppo_micro_batch_size=4 \
    actor_rollout_ref.rollout.n=16 \
    trainer.n_gpus_per_node=1 trainer.nnodes=1
