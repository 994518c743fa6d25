"""Options and features that need or exclude each other, or do nothing together."""

from . import (
    connections_fsdp,
    connections_missing,
    ignored_option,
    interval_multiple,
    moe_layer_freq,
    moe_needs_sp,
    option_needs,
    options_exclude,
    sp_tp1,
)

MODULES = (
    sp_tp1,
    moe_needs_sp,
    option_needs,
    connections_missing,
    connections_fsdp,
    options_exclude,
    ignored_option,
    moe_layer_freq,
    interval_multiple,
)
