"""Names of verl's overrides by which its batches and its strategies are judged."""

#: The sections of verl's own configurations, 0.2 to 0.7: Hydra refuses a key of another one.
SECTIONS = frozenset(
    {
        "actor_rollout_ref",
        "algorithm",
        "critic",
        "custom_reward_function",
        "data",
        "distillation",
        "global_profiler",
        "hydra",
        "model_engine",
        "ray_init",
        "ray_kwargs",
        "reward",
        "reward_manager",
        "reward_model",
        "rollout",
        "sandbox_fusion",
        "trainer",
        "transfer_queue",
    }
)
#: A key that only forks have: PRIME's and SimpleVLA-RL's count samples, not prompts, in an update.
OF_FORKS = "data.n_samples"
PROMPTS, SAMPLES = "data.train_batch_size", "actor_rollout_ref.rollout.n"
PACKED = "actor_rollout_ref.actor.use_dynamic_bsz"
UPDATE = "actor_rollout_ref.actor.ppo_mini_batch_size"

ROLES = ("actor_rollout_ref.actor", "actor_rollout_ref.ref", "critic", "critic.model")
#: Settings of `fsdp_config` that fsdp2 alone reads, with the value that changes something.
OF_FSDP2 = (("offload_policy", "true"), ("reshard_after_forward", "false"))
