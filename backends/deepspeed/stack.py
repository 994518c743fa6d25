"""The stack beneath `target deepspeed`: settings of kernels and traffic, what each changes in the price, and
facts that hold for every job."""

from collections.abc import Iterator, Mapping
from typing import Any

from ...compiler.time.attention_kernels import runs_on
from ...compiler.tuning.ledger import trained_share
from ...dsl.diagnostics import Diagnostic
from ...dsl.job import Job
from ..pytorch_kernels import COMPILED_LOSS, EAGER_NORM_BYTES, EAGER_NORM_KEPT, chosen_attention
from ..stack_facts import Fixed, Said, Stack
from ..stack_problems import contradiction, runs_elsewhere, said_in_extra
from .option_rows import ROWS
from .options import hugging_face, masked, options_of, wide_gradients

TARGET = "deepspeed"

#: Kernels of scaled_dot_product_attention that PyTorch is forbidden to choose, by the one it shall: what is
#: left beside that is the sum in plain operations (torch/backends/cuda/__init__.py).
FORBIDS = {
    "cudnn": ("enable_flash_sdp", "enable_mem_efficient_sdp"),
    "fa2": ("enable_cudnn_sdp", "enable_mem_efficient_sdp"),
}
#: Bytes per parameter to lay out gradients that are reduced in fp32: copied to a bucket (4), put together
#: (4), widened (6), divided (8) and narrowed again (6) (stage3.py:1870, stage_1_and_2.py:1493).
WIDE_COPY_BYTES = 28.0
#: Bytes per parameter to lay out gradients that are reduced in 16 bits: a gradient is copied to a bucket, put
#: together with others of it and divided in place (stage_1_and_2.py:1456 and 1525, stage3.py:1637,
#: coalesced_collectives.py:122).
REDUCE_COPY_BYTES = 12.0


def fused_norms(job: Job) -> bool:
    """nn.RMSNorm and nn.LayerNorm are one kernel, transformers' LlamaRMSNorm is several."""
    chosen = options_of(job).norm_kernel
    return not hugging_face(job) if chosen is None else chosen == "fused"


def fused_loss(job: Job) -> bool:
    return options_of(job).loss_kernel == "fused"


def traits(job: Job) -> Mapping[str, Any]:
    """Cost traits that the job's settings decide, by name."""
    options = options_of(job)
    found: dict[str, Any] = {}
    kernel = options.attention_kernel or chosen_attention(job)
    if runs_on(kernel, job.cluster.gpu.arch):
        found["attention_kernel"] = kernel
    if not fused_norms(job):
        found |= {"norm_bytes": EAGER_NORM_BYTES, "norm_kept_bytes": EAGER_NORM_KEPT}
    if fused_loss(job):
        found |= {**COMPILED_LOSS, "cap_logit_bytes": 0.0}
    if wide_gradients(job):
        found |= {"reduce_bytes": 4.0, "reduce_copy_bytes": WIDE_COPY_BYTES}
    if (share := trained_share(job)) < 1:
        # Frozen weights have no gradients to travel.
        found |= {"reduce_bytes": share * found.get("reduce_bytes", 2.0)}
        found |= {"reduce_copy_bytes": share * found.get("reduce_copy_bytes", REDUCE_COPY_BYTES)}
        found |= {"updated_weight_bytes": lambda job, zero: 2.0 * share}
    if options.tp_overlap:
        # module_inject/layers.py, AsyncColumnParallel.
        found["tensor_parallel_backward"] = True
    if not options.dp_overlap:
        # stage3.py:341, parameter_offload.py:196, stage_1_and_2.py:2239: in the stream of the computation.
        found |= {"micro_batch_reduction": False, "weight_gather": False}
    return found


#: How a job says each fact, or what DeepSpeed always has.
FACTS: Stack = {
    "attention_kernel": Said("attention_kernel", "fa2", "enable_cudnn_sdp"),
    "norm_kernel": Said("norm_kernel", "fused", "LlamaRMSNorm", block={"model": "hf"}),
    "loss_kernel": Said("loss_kernel", "fused", "@torch.compile"),
    "tp_overlap": Said("tp_overlap", True, "tp_overlap_comm", block={"model": "hf"}, where="tp"),
    "dp_overlap": Said("dp_overlap", False, '"overlap_comm": false', where="dp"),
    "grad_dtype": Said("grad_dtype", "fp32", "communication_data_type"),
    "fp8_recipe": Fixed("none", "0.19.8 runtime/config.py: bf16 and fp16, no fp8"),
    "fp8_params": Fixed("off", "0.19.8 runtime/config.py: bf16 and fp16, no fp8"),
    "cuda_graph": Fixed(
        "none", "0.19.8 runtime/config.py:366: enable_cuda_graph is of the engine that generates"
    ),
}


def problems(job: Job) -> Iterator[Diagnostic]:
    """Settings that the model, the GPU or another one contradicts, and keys of `extra` that have one."""
    yield from _attention(job)
    options = options_of(job)
    if options.norm_kernel == "eager" and not hugging_face(job):
        message = "norms of parc's own model are one kernel each (`norm_kernel = eager`)"
        yield contradiction(job, TARGET, "norm_kernel", message, "model = hf, or leave it out")
    if options.tp_overlap and not hugging_face(job):
        message = "parc's own model has no tensor parallelism to overlap (`tp_overlap`)"
        yield contradiction(job, TARGET, "tp_overlap", message, "model = hf, or leave it out")
    elif options.tp_overlap and job.model.bias:
        # module_inject/layers.py:282 adds a bias's gradient up over the batch alone.
        message = "DeepSpeed's `tp_overlap` has no biases (`bias = true`)"
        yield contradiction(job, TARGET, "tp_overlap", message, "leave it out")
    if options.grad_dtype == "bf16" and job.train.precision == "fp16":
        message = "`grad_dtype = bf16` with precision fp16: gradients of fp16 runs are fp16 or fp32"
        yield contradiction(
            job, TARGET, "grad_dtype", message, "grad_dtype = fp32, or leave it out"
        )
    for key in options.extra:
        if key in ROWS.said:
            yield said_in_extra(job, TARGET, key, ROWS.said[key])


def _attention(job: Job) -> Iterator[Diagnostic]:
    chosen = options_of(job).attention_kernel
    if chosen is None:
        return
    if job.train.attention == "unfused":
        message = f"`attention_kernel = {chosen}` with attention unfused, which runs no such kernel"
        yield contradiction(job, TARGET, "attention_kernel", message, "leave one of them out")
    elif chosen == "fa2" and masked(job):
        message = "FlashAttention-2 takes no mask, which windows and sinks need"
        yield contradiction(job, TARGET, "attention_kernel", message, "leave it out")
    yield from runs_elsewhere(job, TARGET, chosen, chosen)
