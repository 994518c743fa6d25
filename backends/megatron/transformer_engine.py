"""Kernels of Transformer Engine beneath Megatron-LM, and the GPUs, heads and precisions that they support.

Its sources are read at NVIDIA/TransformerEngine@d0067d0d (2.20 pre-release).
"""

from collections.abc import Iterator, Mapping

from ...compiler.time.attention_kernels import runs_on
from ...dsl.job import Job
from .. import refusals
from ..capability import HOPPER, capability
from .options import options_of

#: By the name of a kernel, what `--attention-backend` calls it, and its `--flash-attention-version`.
ATTENTION: Mapping[str, tuple[str, int | None]] = {
    "cudnn": ("fused", None),
    "fa2": ("flash", 2),
    "fa3": ("flash", 3),
}
#: FP8's formats by recipe: common/recipe/__init__.py, the default of each.
FORMATS = {"delayed": "hybrid", "tensorwise": "hybrid", "blockwise": "e4m3", "mxfp8": "e4m3"}
#: Heads of FlashAttention: pytorch/attention/dot_product_attention/utils.py:923.
WIDEST_HEAD = 256
HEAD_MULTIPLE = 8


#: Precisions whose products Transformer Engine quantizes: sides of matrices come in multiples of these.
#: pytorch/utils.py:614 (fp8), blocks of 32 values (mxfp8), 16 bytes of 4 bits (Megatron-LM core_v0.19.2,
#: core/fp4_utils.py:176).
SIDE_MULTIPLE = {"fp8": 16, "mxfp8": 32, "nvfp4": 32}


def recipe_of(job: Job) -> str | None:
    """The recipe of the job's fp8 products; None where they are not in fp8."""
    if job.train.precision == "mxfp8":
        return "mxfp8"
    if job.train.precision != "fp8":
        return None
    return options_of(job).fp8_recipe or _usual_recipe(job)


def _usual_recipe(job: Job) -> str:
    """Megatron-Bridge's recipe (067f987d, scripts/performance/dump_perf_configs.py): from Hopper on fp8_cs,
    each tensor's own maximum; on H100 fp8_sc, blocks, for DeepSeek-V3 and Kimi K2. It has none for others.
    """
    if not _since_hopper(job):
        return "delayed"
    blocks = capability(job) == HOPPER and job.model.mla and job.model.moe
    return "blockwise" if blocks else "tensorwise"


def _since_hopper(job: Job) -> bool:
    return job.cluster.gpu.vendor == "nvidia" and capability(job) >= HOPPER


def attention_problems(job: Job) -> Iterator[str]:
    """Why the job cannot run the kernel of attention that it names."""
    kernel, gpu = options_of(job).attention_kernel, job.cluster.gpu
    if kernel == "cudnn":
        return
    said = f"`attention_kernel = {kernel}`"
    if job.train.attention == "unfused":
        yield f"{said} with `attention = unfused`, which has no such kernel"
    if not runs_on(kernel, gpu.arch):
        yield f"{said} has no kernel, or no measured speed, on {refusals.gpu_name(job)} ({gpu.arch})"
    if job.model.attention_sinks:
        yield f"{said} does not support attention sinks"
    if kernel == "fa3" and job.train.dropout:
        yield f"{said} does not support dropout ({job.train.dropout:g})"
    queries, values = head_widths(job)
    if not _fits(kernel, queries, values):
        yield f"{said} does not support heads of {queries} and {values}"


def head_widths(job: Job) -> tuple[int, int]:
    """Elements of a head's query and key, and of its value."""
    model = job.model
    if model.mla:
        return (model.qk_nope_head_dim or 0) + (model.qk_rope_head_dim or 0), model.v_head_dim or 0
    return model.head_size, model.head_size


def _fits(kernel: str, queries: int, values: int) -> bool:
    """dot_product_attention/utils.py:923 pads FlashAttention 2's values; :952 has what version 3 takes. That
    one wants multiples of 8 too (flash-attention, hopper/flash_api.cpp)."""
    widest = max(queries, values)
    if widest % HEAD_MULTIPLE:
        return False
    if kernel == "fa2" or queries == values:
        return widest <= WIDEST_HEAD
    latent = 128 < queries <= 192 and 96 < values <= 128
    return latent or (queries <= 64 and values <= 512)


def recipe_problems(job: Job) -> Iterator[str]:
    """Why the job cannot scale its products by the recipe that it names."""
    recipe, precision = options_of(job).fp8_recipe, job.train.precision
    if recipe in (None, "delayed"):
        return
    if precision != "fp8":
        yield f"`fp8_recipe = {recipe}` has no effect in precision {precision}"
    if recipe == "blockwise" and not _since_hopper(job):
        # pytorch/quantization.py:180; with MXFP8 blocks of 32 Blackwell has its own.
        gpu = f"{refusals.gpu_name(job)} is {job.cluster.gpu.arch}"
        yield f"`fp8_recipe = blockwise` needs compute capability 9.0, and {gpu}"
