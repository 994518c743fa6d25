"""More processes on a node than it has GPUs.

Why:
Two ranks share a GPU, and NCCL refuses: "Duplicate GPU detected". accelerate stops with more processes than
`gpu_ids` names: the ranks beyond them have no device.

Bad:
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gpus-per-node=4
srun torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32

Good:
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gpus-per-node=4
srun torchrun --nproc-per-node 4 pretrain_gpt.py --num-layers 32
"""

import re
from collections.abc import Iterator

from ....compiler.target import Effect
from ....dsl.diagnostics import Severity
from ....reading.facts import dashed, number_of, text_of
from ...facts.batch import batches
from ...facts.commands import ran_by
from ...facts.launched_job import LaunchedJob
from ...facts.trainer import accelerate_count
from ...finding import Complaint, Related

CODE = "PAR603"
TITLE = "more processes than GPUs on a node"
SEVERITY = "warning"
STOPS = "itself"
SOURCE = "NVlabs/Sana#204; huggingface/accelerate#3894"
FILE = "job.sbatch"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    yield from _named_gpus(launch)
    counted = launch.setting("launcher", "--nproc-per-node", "--num-gpus")
    processes = number_of(counted)
    if counted is None or processes is None:
        return
    for batch in batches(launch):
        asked = batch.gpus_per_node
        # One script may submit the other, with options that outrank its header.
        submits = any(each.programs[-1] == "sbatch" for each in ran_by(launch, batch))
        other = batch.path != counted.path and submits
        if asked and processes > asked[0] and not other:
            related = (Related(f"{asked[0]} GPUs per node", asked[1].place),)
            yield Complaint(f"{processes} processes on a node of {asked[0]} GPUs", counted, related)
            return
    # DeepSpeed's launcher ignores the variable beside --num_gpus, which PAR662 says.
    ignored = dashed(counted.name) == "--num-gpus"
    visible = None if ignored else launch.setting("environment", "CUDA_VISIBLE_DEVICES")
    devices = text_of(visible)
    if visible and devices and all(part.strip().isdecimal() for part in devices.split(",")):
        count = len(devices.split(","))
        if processes > count:
            related = (Related(f"{count} visible GPUs", visible),)
            yield Complaint(f"{processes} processes on {count} visible GPUs", counted, related)
            return
    if launch.cluster and processes > launch.cluster.gpus_per_node:
        gpus = launch.cluster.gpus_per_node
        yield Complaint(
            f"{processes} processes on a node of {gpus} GPUs ({launch.cluster.name})", counted
        )


def _named_gpus(launch: LaunchedJob) -> Iterator[Complaint]:
    """accelerate's share of a machine, and the GPUs that are named for it."""
    processes, machines = accelerate_count(launch, "gpus"), accelerate_count(launch, "nodes")
    named = launch.setting("launcher", "--gpu-ids") or launch.setting("yaml", "gpu_ids")
    devices, count = text_of(named) or "", number_of(processes)
    over = 1 if machines is None else number_of(machines)
    if processes is None or named is None or not count or not over:
        return
    if not re.fullmatch(r"\d+(,\s*\d+)*,?", devices):
        return
    gpus = len(re.findall(r"\d+", devices))
    if count // over > gpus:
        related = (Related(f"{gpus} GPUs", named),)
        message = f"{count // over} processes on a machine, and gpu_ids names {gpus} GPUs"
        # A config alone leaves the counts to the command that names it.
        severity: Severity | None = "error" if launch.config.trace else None
        yield Complaint(message, processes, related, severity=severity, effect=Effect.STOPS)
