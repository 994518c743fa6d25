"""Options and features that need or exclude each other, or do nothing together."""

from . import (
    connections_fsdp,
    connections_missing,
    ignored_option,
    interval_multiple,
    learning_rates,
    moe_layer_freq,
    moe_needs_sp,
    option_needs,
    options_exclude,
    sp_tp1,
    topk_experts,
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
    learning_rates,
    interval_multiple,
    topk_experts,
)
