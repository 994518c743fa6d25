"""Keys and blocks of a DeepSpeed config, its ZeRO stages and what they offload."""

from . import (
    accelerate_fields,
    auto_outside_hf,
    beside_params,
    config_value,
    expert_leaves,
    hpz,
    misplaced_block,
    offload_optimizer,
    removed_key,
    repeated_key,
    replaced_schedule,
    string_value,
    two_engines,
    unknown_section_key,
    unknown_top_key,
    zero_pp,
)

MODULES = (
    zero_pp,
    offload_optimizer,
    unknown_section_key,
    string_value,
    misplaced_block,
    unknown_top_key,
    auto_outside_hf,
    hpz,
    removed_key,
    config_value,
    repeated_key,
    accelerate_fields,
    two_engines,
    replaced_schedule,
    beside_params,
    expert_leaves,
)
