"""How a batch job starts, fails, is signalled, requeued and followed by another."""

from . import (
    endless_requeue,
    export_none,
    output_folder,
    signal_lead,
    signal_to_launcher,
    signal_without_trap,
    spool_path,
    trap_waits,
)

MODULES = (
    output_folder,
    endless_requeue,
    signal_without_trap,
    spool_path,
    trap_waits,
    signal_to_launcher,
    signal_lead,
    export_none,
)
