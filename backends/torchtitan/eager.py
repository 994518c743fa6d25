"""Bytes and host time of torchtitan in eager PyTorch, beside the kernels that every framework has."""

from ...dsl.job import Job
from .releases import release

#: Work of the host for a block by mode of recomputation, over that of a block that repeats nothing: 0.2.2's
#: Llama with torch 2.13 on a CPU, tensors of next to no size, takes 0.655 ms forward and backward, 3.79 with
#: `op` and 2.13 with `full` (tests/acceptance/probes/host_probe.py). A fifth of what is priced are launches,
#: which grow with the kernels alone. `op` sends every operation of both passes through a mode in Python
#: (torch/utils/checkpoint.py, _CachingTorchDispatchMode), `full` packs and unpacks what autograd saves.
#: Autocast, under which one GPU trains, takes another 0.8 to 1.6 ms, which are not priced, as is not that the
#: host runs ahead while the GPU has the head.
HOST_SHARES = {1: 4.9, 2: 2.9}
#: Forward passes in a step of a block that is repeated, of which the price counts each as one.
REPEATED = 4 / 3


def alone(job: Job) -> bool:
    """One GPU: 0.2.2 divides nothing, and trains fp32 weights under autocast (distributed/utils.py,
    maybe_enable_amp)."""
    return job.cluster.gpus_per_node == 1 and max(job.cluster.nodes) == 1


def host_share(job: Job, recompute: int) -> float:
    """Work of the host for a block over what is priced, by recomputation; compiled blocks are one call."""
    if job.train.compile:
        return 1.0
    return HOST_SHARES.get(recompute, 1.0) / (REPEATED if recompute == 2 else 1.0)


def sum_bytes(job: Job, zero: int) -> float:
    """Bytes per parameter and micro-batch beyond the gradient's cast: under autocast each pass casts the
    weights to 16 bits (6) and autograd adds the gradient to the sum in fp32 (12)."""
    return 18.0 if alone(job) else 0.0


def first_sum_bytes(job: Job) -> float:
    """Bytes of these that the first micro-batch of a step spares: its gradient becomes the sum."""
    return 12.0 if alone(job) else 0.0


def permuted_bytes(job: Job) -> tuple[float, float] | None:
    """Bytes per value of a token copy that reordering around the experts moves, forward and backward, of 0.2
    in eager PyTorch; None for those of any framework.

    models/moe/moe.py and utils.py, in 16 bits: copies are gathered (4), stacked with a row of zeros (4) and
    gathered with padding (4); what experts return is put back (4), laid into zeros (2 + 4), widened (6) and
    weighed by a product in fp32 (4). Backward: the product's two gradients (4 + 4) and the cast (6), a gather
    (4), a slice's gradient in zeros (6), a gather (4), the sum of what both first products give (6), and two
    gathers' gradients, added into zeros (8 + 4). Under autocast the values are fp32 and are cast for each
    product: 70 and 92.
    """
    if job.train.compile or release(job).python:
        return None
    return (70.0, 92.0) if alone(job) else (32.0, 46.0)
