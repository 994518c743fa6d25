"""Whether a JSON found in a folder is a configuration of DeepSpeed, by the keys of its top level.

Results of evaluations and states of trainers have some of the same words deeper down, or `train_batch_size`
beside keys of their own.
"""

import re

from ....dsl.inputs.documents import json_value

#: Keys that nothing else has.
OWN = frozenset({
    "zero_optimization", "train_micro_batch_size_per_gpu", "zero_allow_untested_optimizer",
})  # fmt: skip
#: Keys that others have as well; `train_batch_size` with another one, and nothing of a trainer's state.
SHARED = frozenset({
    "train_batch_size", "gradient_accumulation_steps", "gradient_clipping", "fp16", "bf16", "optimizer",
    "scheduler", "steps_per_print", "wall_clock_breakdown", "activation_checkpointing", "flops_profiler",
    "amp", "prescale_gradients", "communication_data_type", "pipeline", "data_types", "aio", "tensorboard",
})  # fmt: skip


def is_config(text: str) -> bool:
    try:
        table = json_value(text)
    except ValueError:
        # The rules say what is wrong with it.
        return re.search(rf'^[^\S\n]*"(?:{"|".join(OWN)})"\s*:', text, re.MULTILINE) is not None
    if not isinstance(table, dict):
        return False
    keys = table.keys()
    alone = keys <= SHARED and "train_batch_size" in keys and len(keys) > 1
    return alone or bool(OWN & keys)
