"""Rules on the start of processes: how many, where they meet, and their environment."""

from . import (
    deepspeed_counts,
    early_expansion,
    environment_name,
    fixed_port,
    launcher_environment,
    launcher_option,
    old_launcher,
    pod_world,
    processes_above_gpus,
    random_port,
    rendezvous_host,
    same_rank,
    tasks_launcher,
    uneven_processes,
    waiting_launch,
    world_drift,
)

MODULES = (
    world_drift,
    tasks_launcher,
    processes_above_gpus,
    rendezvous_host,
    same_rank,
    fixed_port,
    environment_name,
    early_expansion,
    launcher_environment,
    launcher_option,
    random_port,
    old_launcher,
    pod_world,
    deepspeed_counts,
    uneven_processes,
    waiting_launch,
)
