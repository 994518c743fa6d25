"""accelerate divides `num_processes`, those of the whole job, over `num_machines`, and drops the rest.

Why:
Each machine starts num_processes // num_machines: none where there are fewer processes than machines, so that
the job does not start; and GPUs are left out where the division has a rest.

Bad:
distributed_type: MULTI_GPU
num_machines: 2
num_processes: 1
main_process_ip: node1
main_process_port: 6000

Good:
distributed_type: MULTI_GPU
num_machines: 2
num_processes: 16
main_process_ip: node1
main_process_port: 6000
"""

from collections.abc import Iterator

from ....compiler.target import Effect
from ....reading.facts import number_of
from ...facts.launched_job import LaunchedJob
from ...facts.trainer import accelerate_count
from ...finding import Complaint, Related

CODE = "PAR663"
TITLE = "accelerate's processes do not divide over its machines"
SEVERITY = "error"
SOURCE = "accelerate 1.10.0 utils/launch.py:219; huggingface/accelerate#2818"
FILE = "accelerate.yaml"
SINCE = "2026-12"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    processes, machines = accelerate_count(launch, "gpus"), accelerate_count(launch, "nodes")
    count, over = number_of(processes), number_of(machines)
    if processes is None or machines is None or not count or not over or count % over == 0:
        return
    related = (Related(f"{over} machines", machines),)
    message = f"num_processes {count} over num_machines {over}: each machine starts {count // over}"
    help_text = "the processes of all machines together"
    if count < over:
        yield Complaint(message, processes, related, help_text, effect=Effect.STOPS)
    else:
        yield Complaint(message, processes, related, help_text, "warning")
