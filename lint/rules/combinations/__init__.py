"""Options and features that need or exclude each other, or do nothing together."""

from . import (
    connections_fsdp,
    connections_missing,
    interval_multiple,
    moe_layer_freq,
    moe_needs_sp,
    sp_tp1,
)

MODULES = (
    sp_tp1,
    moe_needs_sp,
    connections_missing,
    connections_fsdp,
    moe_layer_freq,
    interval_multiple,
)
