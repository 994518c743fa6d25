"""Checkpoints that lie in the job's folder and were written by another layout.

Why:
The job goes on from what it finds. Megatron-LM's own format has a folder for each rank of tensor and pipeline
parallelism, and a start with other degrees is refused; DeepSpeed's ZeRO has a file for each rank of the data
parallelism, and refuses another number of them. The names are read, and no file is opened but the one that
names the newest checkpoint.

Bad:
--- train.sh
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \\
    --tensor-model-parallel-size 4 --train-iters 100000 --save run --load run --save-interval 500
--- run/latest_checkpointed_iteration.txt
100000
--- run/iter_0100000/mp_rank_00/model_optim_rng.pt
the first half of each layer
--- run/iter_0100000/mp_rank_01/model_optim_rng.pt
the second half of each layer

Good:
--- train.sh
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \\
    --tensor-model-parallel-size 2 --train-iters 100000 --save run --load run --save-interval 500
"""

import os
from collections.abc import Iterator

from ...facts.lasting import kept_by, layout_at
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR676"
TITLE = "checkpoints of another layout in the job's folder"
SEVERITY = "error"
SOURCE = (
    "NVIDIA/Megatron-LM@d98e8a64 megatron/training/checkpointing.py:219, 267; deepspeed 0.19.8 "
    "runtime/engine.py:4751; NVIDIA/Megatron-LM#1232, #1517"
)
SINCE = "2026-12"
TRAINING = True


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    kept = kept_by(launch.config)
    if kept is None or not kept.resumes or kept.path is None or kept.folder is None:
        return
    for folder in _places(launch, kept.path):
        there = layout_at(launch.config, folder, launch.files)
        for name, written in there.items():
            given = launch.number(name)
            if given is not None and given != written:
                message = f"the newest checkpoint in {folder} has {name} {written}, and the job has {given}"
                related = (Related(f"{name} {given}", launch.facts[name]),)
                help_text = "another folder, or the layout that wrote it"
                yield Complaint(message, kept.folder, related, help_text)
                return


def _places(launch: LaunchedJob, path: str) -> Iterator[str]:
    """Where a folder may be: from where lint was started, and beside the script."""
    yield path
    if not path.startswith("/"):
        beside = os.path.normpath(os.path.join(os.path.dirname(launch.path), path))
        if beside != path:
            yield beside
