"""Keys and blocks of a DeepSpeed config, its ZeRO stages and what they offload."""

from . import (
    accelerate_fields,
    auto_outside_hf,
    config_value,
    hpz,
    idle_key,
    misplaced_block,
    nvme_path,
    offload_optimizer,
    offload_stage,
    removed_key,
    repeated_key,
    string_value,
    unknown_section_key,
    unknown_top_key,
    zero_pp,
)

MODULES = (
    zero_pp,
    offload_optimizer,
    unknown_section_key,
    string_value,
    offload_stage,
    misplaced_block,
    unknown_top_key,
    auto_outside_hf,
    hpz,
    removed_key,
    config_value,
    nvme_path,
    idle_key,
    repeated_key,
    accelerate_fields,
)
