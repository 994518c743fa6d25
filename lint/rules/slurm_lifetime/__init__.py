"""How a batch job starts, fails, is signalled, requeued and followed by another."""

from . import (
    afterok_chain,
    endless_requeue,
    export_none,
    kill_on_bad_exit,
    log_folder,
    lost_exit_code,
    output_folder,
    pipefail_head,
    requeue_overwrites,
    signal_lead,
    signal_to_launcher,
    signal_without_trap,
    trap_waits,
)

MODULES = (
    kill_on_bad_exit,
    lost_exit_code,
    output_folder,
    requeue_overwrites,
    endless_requeue,
    signal_without_trap,
    trap_waits,
    signal_to_launcher,
    signal_lead,
    export_none,
    afterok_chain,
    pipefail_head,
    log_folder,
)
