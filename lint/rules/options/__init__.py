"""Options of Megatron-LM and keys of torchtitan: unknown, removed, missing, or with a wrong value."""

from . import (
    missing_option,
    option_value,
    removed_option,
    toml_value,
    unknown_option,
    unknown_setting,
)

MODULES = (
    unknown_setting,
    toml_value,
    removed_option,
    unknown_option,
    option_value,
    missing_option,
)
