"""A job that is started again, and writes no checkpoint or reads none.

Why:
Each start begins at step 0, and what the one before has trained is lost: a job that was to survive its wall
time never gets past it. Megatron-LM goes on only from --load, with the folder of --save; torchtitan writes
nothing unless `checkpoint.enable` is on; LLaMA-Factory goes on unless `overwrite_output_dir` is, and axolotl
with `auto_resume_from_checkpoints` alone.

Bad:
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gpus-per-node=8
#SBATCH --time=24:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
srun torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 \\
    --num-attention-heads 32 --train-iters 100000 --save /shared/run1 --save-interval 500

Good:
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gpus-per-node=8
#SBATCH --time=24:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
srun torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 \\
    --num-attention-heads 32 --train-iters 100000 --save /shared/run1 --load /shared/run1 --save-interval 500
"""

from collections.abc import Iterator

from ....dsl.diagnostics import Severity
from ...facts.lasting import kept_by, restart, takes_more
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR671"
TITLE = "a restarted job that begins at step 0"
SEVERITY = "warning"
SOURCE = (
    "NVIDIA/Megatron-LM@d98e8a64 megatron/training/training.py:2859; torchtitan 0.2.2 "
    "components/checkpoint.py:575; hiyouga/LLaMA-Factory@ff6d4d12 src/llamafactory/hparams/parser.py:612"
)
SINCE = "2026-12"
TRAINING = True
FILE = "job.sbatch"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    kept, again = kept_by(launch.config), restart(launch)
    if kept is None or again is None:
        return
    if kept.saves is False:
        message = f"{again.words}, and no checkpoint is written"
    elif kept.saves and kept.resumes is False:
        message = f"{again.words}, and a start does not resume from the last one's checkpoints"
    else:
        return
    related = (Related("what decides it", kept.at),) if kept.at is not None else ()
    help_text = "a folder that each start both reads and writes"
    severity: Severity | None = "info" if takes_more(launch) else None
    yield Complaint(message, again.at, related, help_text, severity)
