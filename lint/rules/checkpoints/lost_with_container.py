"""Checkpoints inside a container that goes with its step.

Why:
pyxis makes a container for the step and removes it at its end, unless it has a name or is saved: what lies in
no mounted folder is gone, and a job that is started again finds nothing. A relative folder begins in the
image's own working folder unless `--container-workdir` is given. A site may mount folders by itself.

Bad:
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gpus-per-node=8
#SBATCH --time=24:00:00
srun --container-image=/images/pytorch.sqsh --container-mounts=/data:/data \\
    torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 \\
    --num-attention-heads 32 --train-iters 100000 --save checkpoints --load checkpoints --save-interval 500

Good:
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gpus-per-node=8
#SBATCH --time=24:00:00
srun --container-image=/images/pytorch.sqsh --container-mounts=/data:/data,/shared:/shared \\
    torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 \\
    --num-attention-heads 32 --train-iters 100000 --save /shared/run --load /shared/run --save-interval 500
"""

from collections.abc import Iterator

from ...facts.containers import container
from ...facts.lasting import kept_by, moves
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR674"
TITLE = "checkpoints inside a container that goes with its step"
SEVERITY = "warning"
SOURCE = "NVIDIA/pyxis README.md: --container-name, --container-workdir; NVIDIA/pyxis#119"
SINCE = "2026-12"
TRAINING = True
FILE = "job.sbatch"

#: Folders that a site mounts or not, by its own settings.
_HOME = ("/home/", "/root/", "~")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    kept, inside = kept_by(launch.config), container(launch)
    if kept is None or inside is None or not kept.saves or kept.folder is None:
        return
    path = kept.path
    if path is None or path.startswith(_HOME) or inside.kept or inside.mounts is None:
        return
    if path.startswith("/") or inside.workdir:
        # Without mounts of its own a step has those of its site.
        lost = bool(inside.mounts) and inside.holds(path)
        why = "no mount covers it"
    else:
        lost = not moves(launch.config)
        why = "it begins in the image's own folder"
    if lost:
        message = f"checkpoints go to {path} inside the step's container: {why}"
        related = (Related("the container has no name", inside.image),)
        help_text = "an absolute folder that --container-mounts names"
        yield Complaint(message, kept.folder, related, help_text)
