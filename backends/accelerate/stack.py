"""The stack beneath `target accelerate`: what runs whatever a job says, and what of it adapters change."""

from collections.abc import Mapping
from typing import Any

from ...compiler.model import parameters
from ...compiler.time.attention_kernels import runs_on
from ...compiler.tuning.ledger import frozen_bytes, scale_bytes, trained_share
from ...dsl.job import Job
from ..pytorch_kernels import EAGER_NORM_BYTES, EAGER_NORM_KEPT, chosen_attention
from ..stack_facts import Fixed, Stack

#: Bytes per parameter on the wire and copied for it, of a 16-bit gradient.
REDUCE_BYTES, REDUCE_COPY_BYTES = 2.0, 4.0
#: Bytes per parameter of a layer's gradients and of the input of their reduction, both of 16 bits.
LAYER_GRADIENT_BYTES = 4.0


def divided_bytes(job: Job) -> float:
    """Bytes per parameter of frozen weights that FSDP2 divides: all but the scales of 4-bit ones."""
    whole = parameters.total(job.model, seq_len=job.train.seq_len)
    return frozen_bytes(job) - scale_bytes(job) / whole


def gather_bytes(job: Job) -> float:
    """Bytes per parameter of gathered weights: 16 bits of each, but of frozen ones in 4 bits."""
    if job.train.tune != "qlora":
        return 2.0
    return divided_bytes(job) + 2.0 * trained_share(job)


def traits(job: Job) -> Mapping[str, Any]:
    """Cost traits by name: PyTorch's attention, norms of several kernels, gradients of what is trained."""
    found: dict[str, Any] = {"norm_bytes": EAGER_NORM_BYTES, "norm_kept_bytes": EAGER_NORM_KEPT}
    kernel = chosen_attention(job)
    if runs_on(kernel, job.cluster.gpu.arch):
        found["attention_kernel"] = kernel
    share = trained_share(job)
    return found | {
        "reduce_bytes": share * REDUCE_BYTES,
        "reduce_copy_bytes": share * REDUCE_COPY_BYTES,
        # Frozen weights have no gradient.
        "layer_gradient_bytes": share * LAYER_GRADIENT_BYTES,
        "gather_bytes": gather_bytes(job),
        # Gathered weights are read and written once more.
        "gather_copy_bytes": 2.0 * gather_bytes(job),
    }


#: What accelerate and transformers always have here.
FACTS: Stack = {
    "attention_kernel": Fixed("auto", "transformers 5.23 sdpa: PyTorch chooses the kernel"),
    "norm_kernel": Fixed("eager", "transformers 5.23 models/llama/modeling_llama.py: LlamaRMSNorm"),
    "loss_kernel": Fixed("fused", "trl 1.16 kernels/chunked_logprob.py: tiles, no whole logits"),
    "tp_overlap": Fixed("off", "parc writes no tensor parallelism for accelerate"),
    "dp_overlap": Fixed(
        "on", "torch 2.13 distributed/fsdp/_fully_shard: gathers ahead, reduces in a stream"
    ),
    "grad_dtype": Fixed("bf16", "accelerate 1.15 utils/dataclasses.py:2137: reduce_dtype"),
    "fp8_recipe": Fixed("none", "parc writes bf16 alone for accelerate"),
    "fp8_params": Fixed("off", "parc writes bf16 alone for accelerate"),
    "cuda_graph": Fixed("none", "transformers 5.23 trainer.py: no graphs"),
}
