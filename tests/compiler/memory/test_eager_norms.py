"""A norm of several kernels keeps its input in fp32 and its result before the weight."""

from __future__ import annotations

from parc import estimate
from parc.backends import BACKENDS
from parc.dsl import loads

JOB = """
model {{ layers = 6; hidden = 512; heads = 8; ffn = 2048; vocab = 32000 }}
cluster pod from std.dgx_h100 {{ nodes = 1 }}
train {{ seq_len = 1024; global_batch = 64; steps = 10 }}
target deepspeed {{ model = hf; norm_kernel = {kernel} }}
"""


def activation_bytes(kernel: str) -> int:
    options = {name: each.target.options for name, each in BACKENDS.items()}
    job = loads(JOB.format(kernel=kernel), targets=options)
    layout = {"dp_shard": 8, "zero": 1, "micro_batch": 2, "microbatches": 4}
    return estimate(job, layout, "deepspeed").fullest.memory["activations"]


def test_eager_norms_keep_four_bytes_more_of_each_element() -> None:
    """Of two norms in each of six layers, for two sequences of 1,024 tokens, 512 wide."""
    more = activation_bytes("eager") - activation_bytes("fused")
    assert abs(more - 6 * 2 * 4 * 2 * 1024 * 512) <= 6 * 2 * 1024
