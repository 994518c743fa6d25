"""Keys of axolotl's YAML that its schema refuses together, or one without another.

Sources: axolotl-ai-cloud/axolotl@00eea011 src/axolotl/utils/schemas/validation.py, and @0134093a
src/axolotl/utils/config/models/input/v0_4_1, which has the same.
"""

from .option_rows import EVAL_STEPS, EVALUATES, SAVE_STEPS, SAVES

#: What is held out of the data for evaluation, and what stands for it.
HELD_OUT, OWN_DATA = "val_set_size", "test_datasets"
#: Samples packed into sequences, those of the evaluation, and a table of what the model writes.
PACKED, EVAL_PACKED, TABLE = "sample_packing", "eval_sample_packing", "eval_table_size"
#: A model in 4 or in 8 bits, and the kind of adapter that is trained on it.
FOUR_BITS, EIGHT_BITS, ADAPTER = "load_in_4bit", "load_in_8bit", "adapter"
CONFIG, OPTIMIZER = "deepspeed", "optimizer"
_PER_EPOCH = "evals_per_epoch"
#: Two keys, of which one at most is set.
CLASHES = (
    (CONFIG, "fsdp"),
    (OWN_DATA, HELD_OUT),
    ("warmup_steps", "warmup_ratio"),
    ("saves_per_epoch", SAVE_STEPS),
    (_PER_EPOCH, EVAL_STEPS),
    ("gradient_accumulation_steps", "batch_size"),
    (PACKED, "rl"),
    ("max_memory", "gpu_memory_limit"),
    ("do_causal_lm_eval", EVAL_PACKED),
    ("flash_attn_cross_entropy", "unsloth_cross_entropy_loss"),
)
#: A key that is set, and those of which it needs one.
NEEDS = (
    ("pretraining_dataset", ("max_steps",)),
    ("push_dataset_to_hub", ("hf_use_auth_token",)),
    ("peft_layers_pattern", ("peft_layers_to_transform",)),
    ("do_bench_eval", (_PER_EPOCH, EVAL_STEPS)),
    (EIGHT_BITS, (ADAPTER,)),
    (FOUR_BITS, (ADAPTER,)),
)
#: A strategy other than `steps`, and the key that it may not meet.
BY_STEPS = ((SAVES, SAVE_STEPS), (EVALUATES[0], EVAL_STEPS), (EVALUATES[0], _PER_EPOCH))
