"""Rules on resources: those that a batch job asks of SLURM against those that its steps use."""

from . import (
    cores_of_task,
    cpus_not_inherited,
    foreign_gpus,
    gpu_per_task,
    gpu_requests_differ,
    gpus_variable,
    gpus_without_tasks,
    nodes_above_tasks,
    nodes_without_srun,
    segment,
    step_beyond_job,
    tasks_without_srun,
    time_limit,
)

MODULES = (
    segment,
    nodes_without_srun,
    gpu_per_task,
    gpus_without_tasks,
    nodes_above_tasks,
    step_beyond_job,
    gpu_requests_differ,
    foreign_gpus,
    gpus_variable,
    cpus_not_inherited,
    time_limit,
    tasks_without_srun,
    cores_of_task,
)
