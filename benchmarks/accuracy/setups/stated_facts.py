"""A row's columns -> traits to replace, precision, attention, loads of CUDA; a row that contradicts itself
is not priced."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from benchmarks.accuracy.rows.csv_rows import Row, Unusable, month_of
from benchmarks.accuracy.setups.memory_traits import Traits
from benchmarks.accuracy.setups.recipes import GRAPHED, recipe_of
from benchmarks.accuracy.setups.stacks import ONE_LOSS, Stack
from parc.backends.pytorch_kernels import CUDNN_FIRST, EAGER_NORM_BYTES, EAGER_NORM_KEPT
from parc.compiler.time.attention_kernels import PACE, ROWWISE, runs_on
from parc.dsl.hardware import Gpu

#: Kernels of attention that store the scores: every GPU runs them.
UNFUSED = ("unfused", "megatron-softmax")
#: Bytes per score that a softmax moves in PyTorch's own kernels, forward and backward: scaled (4), masked
#: (5), widened (6), the softmax in fp32 (8), narrowed (6); its gradient widened (6), taken (12), narrowed
#: (6), masked (5), scaled (4). megatron-softmax is the target's.
EAGER_SOFTMAX: Traits = (("softmax_bytes", 29.0), ("softmax_backward_bytes", 33.0))
#: What the older column `attention` means of a kernel; `flash` leaves it to the framework.
KERNEL_OF = {"": "", "flash": "", "flash1": "fa1", "flash2": "fa2", "flash3": "fa3"}
#: Bytes per element that a norm moves.
NORM_BYTES = {"fused": 4.0, "eager": EAGER_NORM_BYTES}
#: Bytes of PyTorch's kernels that CUDA loaded at the start before it loaded each at its first use (CUDA
#: 11.7): what nvidia-smi shows of a process with one tensor (bigscience,
#: train/tr11-176B-ml/chronicles-prequel.md).
MIB = 2**20
EAGER_KERNELS = {"sm70": 1271 * MIB, "sm80": 1573 * MIB}
LAZY_SINCE = "2022-07"
#: Bytes of kernels within a GPU's `reserve` (dsl/std/gpus.par), which stands for CUDA of today.
LAZY_KERNELS = 512 * MIB
PRECISIONS = ("bf16", "fp16", "fp8", "mxfp8", "nvfp4")
#: Recipes of fp8 and the precision of the language that each is.
FP8_RECIPES = {"delayed": "fp8", "tensorwise": "fp8", "rowwise": "fp8", "mxfp8": "mxfp8"}
GRADIENTS = ("fp32", "bf16", "fp16")
OPTIMIZERS = ("adam", "adam8bit")
#: Dispatchers of Megatron-Core (moe_token_dispatcher_type, moe_flex_dispatcher_backend) and what they send.
DISPATCHERS = {"alltoall": "copies", "deepep": "tokens", "hybridep": "tokens"}
#: Fused losses: Megatron-LM's two, which keep logits, and products of the head in chunks, of which none stays
#: (Liger's fused linear cross-entropy).
FUSED_LOSSES: dict[str, Traits] = {
    "native": (),
    "te": ONE_LOSS,
    "linear": (("logit_bytes", 0.0), ("local_logit_bytes", 0.0)),
}


#: Programs whose gaps and context are known: torchtitan, and those of `parc compile` and `benchmarks/gpu`,
#: on today's PyTorch with segments that grow. Of others neither is.
GROWING = ("torchtitan", "deepspeed", "pytorch")
ELSEWHERE: Traits = (("freed_logit_bytes", 0.0), ("lone_context", None))


def attention_kernel(row: Row, stack: Stack) -> str:
    """The kernel that ran. Raises Unusable where the two columns contradict each other."""
    kernel, stored = row.attention_kernel, row.attention.startswith("unfused")
    if not stored and row.attention not in KERNEL_OF:
        raise Unusable(f"unknown attention `{row.attention}`")
    if kernel and kernel not in (*UNFUSED, *PACE):
        raise Unusable(f"unknown attention_kernel `{kernel}`")
    if kernel and row.attention and stored != (kernel in UNFUSED):
        raise Unusable(f"attention `{row.attention}` contradicts attention_kernel `{kernel}`")
    if kernel or stored:
        return kernel or UNFUSED[0]
    fused = "fa2" if row.attention and stack.attention in UNFUSED else stack.attention
    return KERNEL_OF[row.attention] or fused


def gpu_as_run(gpu: Gpu, row: Row, stack: Stack) -> Gpu:
    """A GPU with the memory that CUDA of the time took."""
    version = month_of(row.framework_version)
    if stack.torch and "" < version < LAZY_SINCE and gpu.arch in EAGER_KERNELS:
        reserve = gpu.reserve - LAZY_KERNELS + EAGER_KERNELS[gpu.arch]
        return gpu.model_copy(update={"reserve": reserve})
    return gpu


def precision_of(row: Row) -> str:
    """Raises Unusable for one that the language lacks, and for a recipe that contradicts it."""
    if not row.precision:
        raise Unusable("precision not stated")
    if row.precision not in PRECISIONS:
        raise Unusable(f"precision `{row.precision}` is not in the language")
    if not row.fp8_recipe:
        return row.precision
    meant = _known("fp8_recipe", row.fp8_recipe, FP8_RECIPES)
    if row.precision not in ("fp8", FP8_RECIPES[meant]):
        raise Unusable(f"fp8_recipe `{meant}` contradicts precision `{row.precision}`")
    return FP8_RECIPES[meant]


def optimizer_of(row: Row) -> str:
    return _known("optimizer", row.optimizer or OPTIMIZERS[0], OPTIMIZERS)


def compiled(row: Row, stack: Stack) -> bool:
    return stack.compiles if row.compile is None else bool(row.compile)


def _known(column: str, word: str, words: Collection[str]) -> str:
    if word not in words:
        raise Unusable(f"unknown {column} `{word}`")
    return word


def traits_of(row: Row, stack: Stack, kernel: str, gpu: Gpu) -> Traits:
    """Traits of the target to replace: the framework's, its recipes', and what the row says; later ones
    count. Raises Unusable for a kernel that does not run on the GPU."""
    stated = (*_attention(_chosen(kernel, row, gpu), gpu), *_stated(row, stack))
    fused = stack.compiled if compiled(row, stack) else ()
    gaps = () if row.framework in GROWING else ELSEWHERE
    return (*gaps, *stack.traits, *fused, *recipe_of(row, stack), *stack.memory(row), *stated)


def _chosen(kernel: str, row: Row, gpu: Gpu) -> str:
    """The kernel that PyTorch chooses where a run left it to `sdpa`: today's releases, which runs with a tag
    and no date have, ask cuDNN first on some GPUs."""
    if kernel == "sdpa" and not month_of(row.framework_version) and gpu.arch in CUDNN_FIRST:
        return "cudnn"
    return kernel


def _attention(kernel: str, gpu: Gpu) -> Iterator[tuple[str, object]]:
    if kernel in UNFUSED:
        return
    if not runs_on(kernel, gpu.arch):
        raise Unusable(f"attention_kernel `{kernel}` does not run on {gpu.name}")
    yield "attention_kernel", kernel


def _stated(row: Row, stack: Stack) -> Iterator[tuple[str, object]]:
    if row.sp == 0 and (row.tp or 1) > 1:
        yield "sequence_parallel", False
    if row.attention_kernel == "unfused" and stack.torch:
        yield from EAGER_SOFTMAX
    if row.norm_kernel:
        norm = _known("norm_kernel", row.norm_kernel, NORM_BYTES)
        yield "norm_bytes", NORM_BYTES[norm]
        yield "norm_kept_bytes", EAGER_NORM_KEPT if norm == "eager" else 0.0
    if row.tp_overlap is not None:
        yield from _tensor_overlap(bool(row.tp_overlap), stack)
    if row.dp_overlap is not None:
        for name in ("gradient_reduction", "micro_batch_reduction", "updated_weight_gather"):
            yield name, bool(row.dp_overlap)
    if row.grad_dtype:
        wide = _known("grad_dtype", row.grad_dtype, GRADIENTS) == "fp32"
        yield "reduce_bytes", 4.0 if wide else 2.0
    elif row.precision == "fp16":
        # fp16 runs sum and send gradients in fp16 unless told otherwise (Megatron-LM, arguments.py).
        yield "reduce_bytes", 2.0
    if row.fp8_recipe == "rowwise":
        yield "fp8_pace", ROWWISE
    if row.dispatcher:
        yield "dispatch", DISPATCHERS[_known("dispatcher", row.dispatcher, DISPATCHERS)]
    if row.ep_overlap is not None:
        yield "expert_exchange", bool(row.ep_overlap)
    if row.fused_ce:
        yield from FUSED_LOSSES[_known("fused_ce", row.fused_ce, FUSED_LOSSES)]
    if row.launch_blocking:
        yield "blocking", True
    if row.cuda_graph:
        yield from GRAPHED


def _tensor_overlap(on: bool, stack: Stack) -> Iterator[tuple[str, object]]:
    """Traffic in pieces beside products where the framework can, else beside the backward pass alone."""
    yield "tensor_parallel", on and stack.pieces
    if not (on and stack.pieces):
        yield "tensor_parallel_backward", on
