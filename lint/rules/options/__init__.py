"""Options of Megatron-LM and Transformers and keys of torchtitan: unknown, removed, missing, or wrong."""

from . import (
    accelerate_value,
    dropped_option,
    fsdp_recompute,
    llamafactory_pairs,
    missing_option,
    option_twice,
    option_value,
    parsed_argument,
    removed_option,
    toml_value,
    trainer_option,
    trainer_pairs,
    trainer_value,
    unknown_option,
    unknown_setting,
    verl_idle,
)

MODULES = (
    unknown_setting,
    toml_value,
    removed_option,
    unknown_option,
    option_value,
    missing_option,
    trainer_option,
    parsed_argument,
    accelerate_value,
    trainer_value,
    llamafactory_pairs,
    trainer_pairs,
    dropped_option,
    fsdp_recompute,
    verl_idle,
    option_twice,
)
