"""The deepspeed launcher is told its GPUs twice: by name and by number, or to a backend that takes no number.

Why:
It stops: "Cannot specify num_nodes/gpus with include/exclude", and with MPI "backend does not support
limiting num nodes/gpus". Beside --num_gpus it ignores CUDA_VISIBLE_DEVICES and takes the first GPUs.

Bad:
--- launch.sh
deepspeed --include localhost:2,3 --num_gpus 2 train.py --deepspeed_config ds_config.json
--- ds_config.json
{"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 1}}

Good:
--- launch.sh
deepspeed --include localhost:2,3 train.py --deepspeed_config ds_config.json
"""

from collections.abc import Iterator

from ....reading.facts import Setting, number_of, text_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR662"
TITLE = "GPUs of the deepspeed launcher are given twice"
SEVERITY = "error"
SOURCE = (
    "DeepSpeed 0.19.8 launcher/runner.py:448-464, multinode_runner.py:150; EleutherAI/gpt-neox#414, "
    "huggingface/accelerate#3319, deepspeedai/DeepSpeed#662"
)
FILE = "launch.sh"
SINCE = "2026-12"

COUNTS = ("--num-gpus", "--num-nodes")
NAMED = ("--include", "--exclude")
#: Backends of --launcher that refuse a selection.
MPI = ("openmpi", "mpich", "impi", "mvapich")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    count = launch.setting("launcher", *COUNTS)
    if count is None or (number_of(count) or 0) < 1:
        return
    named, backend = launch.setting("launcher", *NAMED), launch.setting("launcher", "--launcher")
    if named is not None:
        message = f"{count.name} and {named.name} exclude each other"
        yield Complaint(message, count, (Related(named.name, named),), f"drop {count.name}")
    elif launch.setting("launcher", "--hostfile") is None:
        yield from _ignored(launch, count)
    elif text_of(backend) in MPI:
        message = f"{count.name} with the backend {text_of(backend)}, which takes no number"
        related = (Related("the backend", backend),) if backend else ()
        yield Complaint(message, count, related, "a hostfile with the slots to use")


def _ignored(launch: LaunchedJob, count: Setting) -> Iterator[Complaint]:
    """GPUs that the environment names, where the launcher counts from 0."""
    visible, gpus = launch.setting("environment", "CUDA_VISIBLE_DEVICES"), number_of(count)
    given = (text_of(visible) or "").split(",")
    if visible is None or not gpus or count.name.endswith("nodes") or not given[0].isdecimal():
        return
    if given[:gpus] != [str(number) for number in range(gpus)]:
        message = f"CUDA_VISIBLE_DEVICES={','.join(given)} is ignored beside {count.name} {gpus}"
        help_text = f"--include localhost:{','.join(given)} in place of both"
        related = (Related("the launcher counts from GPU 0", count),)
        yield Complaint(message, visible, related, help_text, "warning")
