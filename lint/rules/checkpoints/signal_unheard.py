"""A signal before the wall time that the program does not handle.

Why:
The signal asks for a last checkpoint, and a program without a handler dies of it: nothing is saved, and the
job ends earlier than without the signal. Megatron-LM handles SIGTERM with --exit-signal-handler, and another
signal with --exit-signal; torchtitan and LLaMA-Factory handle none. The signal is the one that reaches the
program: that of `--signal`, or with `B:` the one that the script's trap sends on. Forks of Megatron-LM with a
handler, and programs beside the script that set one themselves, are left.

Bad:
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gpus-per-node=8
#SBATCH --time=24:00:00
#SBATCH --signal=B:USR1@600
trap 'scancel --signal=TERM "$SLURM_JOB_ID"' USR1
srun torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 \\
    --num-attention-heads 32 --train-iters 100000 --save /shared/run --load /shared/run --save-interval 99 &
wait

Good:
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gpus-per-node=8
#SBATCH --time=24:00:00
#SBATCH --signal=B:USR1@600
trap 'scancel --signal=TERM "$SLURM_JOB_ID"' USR1
srun torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 \\
    --num-attention-heads 32 --train-iters 100000 --save /shared/run --load /shared/run --save-interval 99 \\
    --exit-signal-handler &
wait
"""

from collections.abc import Iterator

from ....dsl.diagnostics import Severity
from ...facts.batch import batches
from ...facts.lasting import kept_by, takes_more
from ...facts.launched_job import LaunchedJob
from ...facts.signals import reaching, wall_signal
from ...finding import Complaint, Related

CODE = "PAR673"
TITLE = "a signal that the program does not handle"
SEVERITY = "warning"
SOURCE = (
    "NVIDIA/Megatron-LM@d98e8a64 megatron/training/training.py:4056; no handler in torchtitan 0.2.2, tried: "
    "status 1, nothing saved"
)
SINCE = "2026-12"
TRAINING = True
FILE = "job.sbatch"

#: The cure, by framework.
_HELP = {
    "megatron": "--exit-signal-handler for SIGTERM, --exit-signal for another one",
    "torchtitan": "a handler in a module of the job's own, or checkpoints at shorter intervals",
}


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    kept = kept_by(launch.config)
    if kept is None or kept.handles is None or kept.leaves_early or not kept.saves:
        return
    if _of_its_own(launch, bool(kept.handles)):
        return
    for batch in batches(launch):
        asked = wall_signal(batch)
        if asked is None:
            continue
        sent = reaching(launch, batch, asked)
        if not sent or sent & kept.handles:
            continue
        names = " or ".join(sorted(sent))
        handled = " and ".join(sorted(kept.handles)) or "no signal"
        message = f"{names} is to save a last checkpoint, and the program handles {handled}"
        related = (Related("its checkpoints", kept.folder),) if kept.folder else ()
        help_text = _HELP.get(launch.framework or "", "checkpoints at shorter intervals")
        severity: Severity | None = "info" if takes_more(launch) else None
        yield Complaint(message, asked.given.place, related, help_text, severity)


def _of_its_own(launch: LaunchedJob, handled: bool) -> bool:
    """Whether a fork may handle another signal than Megatron-LM does (swiss-ai/Megatron-LM: SIGUSR2), or the
    launched program, a file beside the script, handles one itself."""
    forked = launch.framework == "megatron" and not launch.release("megatron").upstream
    return (handled and forked) or "signal.signal(" in (launch.program_text or "")
