"""A ramp of the batch starts at one size and grows by steps: each must be a multiple of micro-batch * dp.

Why:
Megatron-LM stops when the ramp reaches a size that does not divide. A run that was resumed beyond its ramp,
or that grew its nodes along it, never meets such a size; so this is a warning.

Bad:
torchrun --nnodes 3 --nproc-per-node 8 pretrain_gpt.py --micro-batch-size 1 --global-batch-size 1008 \\
    --rampup-batch-size 16 16 6000000

Good:
torchrun --nnodes 3 --nproc-per-node 8 pretrain_gpt.py --micro-batch-size 1 --global-batch-size 1008 \\
    --rampup-batch-size 24 24 6000000
"""

from collections.abc import Iterator

from ....reading.facts import texts_of, whole
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR202"
TITLE = "a ramp of the batch does not divide by micro-batch * dp"
SEVERITY = "warning"
SOURCE = "NVIDIA/Megatron-LM@d98e8a64 megatron/core/num_microbatches_calculator.py"
TRAINING = True


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    at = launch.option("--rampup-batch-size")
    micro, dp = launch.number("micro_batch"), launch.number("dp")
    sizes = [number_in(text) for text in texts_of(at)]
    if at is None or len(sizes) != 3 or not micro or not dp:
        return
    start, increment, _ = sizes
    related = tuple(
        Related(f"{name} {launch.number(name)}", launch.facts[name])
        for name in ("micro_batch", "dp")
    )
    step = micro * dp
    odd = [
        f"{what} {size}"
        for what, size in (("start", start), ("increment", increment))
        if size and size % step
    ]
    if odd:
        message = (
            f"ramp-up {' and '.join(odd)}: not a multiple of micro-batch {micro} * dp {dp} = {step}"
        )
        yield Complaint(message, at, related, "allowed only when resumed after the ramp")
        return
    batch = launch.number("global_batch")
    if start and increment and batch and (batch - start) % increment:
        message = (
            f"global batch {batch} - start {start} is not a multiple of the increment {increment}"
        )
        yield Complaint(
            message, at, (Related(f"global_batch {batch}", launch.facts["global_batch"]),)
        )


def number_in(text: str) -> int | None:
    return whole(text.replace("_", ""))
