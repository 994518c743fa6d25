"""The stack beneath `target megatron`: settings of kernels and traffic, what each changes in the price, and
Megatron-LM's options for it."""

from collections.abc import Iterator, Mapping
from typing import Any

from ...compiler.target import Effect, Predicate
from ...dsl.diagnostics import Diagnostic
from ...dsl.job import Job
from ..host import GRAPHED
from ..stack_facts import Fixed, Said, Stack
from ..stack_problems import contradiction, said_in_extra
from . import (
    context_ways,
    dispatcher,
    exchange_overlap,
    recomputed_modules,
    tensor_overlap,
    transformer_engine,
)
from .constraints.layouts import sequence_parallel
from .option_rows import ROWS
from .options import asked, option_name, options_of
from .tensor_overlap import overlapped

CORE = "megatron-core 0.19.2"
FACTS: Stack = {
    "attention_kernel": Said("attention_kernel", "fa2", "--flash-attention-version"),
    "norm_kernel": Fixed(
        "fused",
        f"{CORE} core/extensions/transformer_engine_spec_provider.py:56 (TENorm)",
    ),
    # Counted by inductor's scheduler (PyTorch 2.13, CPU) over the four functions of fused_cross_entropy.py:
    # 10, 12, 8 and 22 bytes a logit, 52 together as `loss_bytes` has of the steps one by one.
    "loss_kernel": Said(
        "loss_kernel",
        "eager",
        "--cross-entropy-loss-fusion",
        priced=False,
        notable=False,
        why="compiled for a CPU it moves as many bytes as before; no measured runs differ in it alone",
    ),
    "tp_overlap": Said("tp_overlap", False, "--tp-comm-overlap", where="tp", notable=False),
    "dp_overlap": Said("dp_overlap", False, "--overlap-grad-reduce", where="dp"),
    "grad_dtype": Said("grad_dtype", "bf16", "--grad-reduce-in-bf16"),
    "fp8_recipe": Said(
        "fp8_recipe",
        "delayed",
        "delayed",
        job={"precision": "fp8"},
        priced=False,
        notable=False,
        why="no measured runs of Megatron-LM differ in it alone; `fp8_efficiency` stands for all",
    ),
    "fp8_params": Said("fp8_params", False, "--fp8-param-gather", job={"precision": "fp8"}),
    "cuda_graph": Said("cuda_graph", True, "--cuda-graph-impl"),
}

#: The graph that `cuda_graph` is; those of single layers are said in `extra`, and have no measured price.
WHOLE_STEP = "full_iteration"
LAYERS = ("none", "local", "transformer_engine")


def fused_loss(job: Job) -> bool:
    """Its backward pass rounds to bf16 (core/fusions/fused_cross_entropy.py:82), coarser than fp16."""
    chosen = options_of(job).loss_kernel
    return job.train.precision != "fp16" if chosen is None else chosen == "fused"


def traits(job: Job) -> Mapping[str, Any]:
    """Cost traits that the job's settings change, by name."""
    options, changed = options_of(job), dict[str, Any](discarded=recomputed_modules.discarded(job))
    changed["contexts"] = context_ways.ways(job) or context_ways.ALL[:1]
    if options.attention_kernel != "cudnn":
        changed["attention_kernel"] = options.attention_kernel
    if options.grad_dtype == "bf16":
        changed |= {"reduce_bytes": 2.0, "layer_gradient_bytes": 4.0}
    if overlapped(job):
        # Transformer Engine's user buffers: collectives in pieces beside their products.
        changed["tensor_parallel"] = True
    if not options.sequence_parallel:
        changed["sequence_parallel"] = False
    if not options.dp_overlap:
        changed |= {"gradient_reduction": False, "updated_weight_gather": False}
    if options.ep_overlap:
        changed["expert_exchange"] = True
    if options.dispatcher != "alltoall":
        changed["dispatch"] = "tokens"
    if options.cuda_graph:
        changed |= GRAPHED
    return changed


def _waits_for_transfers(job: Job) -> bool:
    """Whether `extra` turns off the overlap of transfers between stages."""
    return "--no-overlap-p2p-communication" in asked(options_of(job))


def _whole_sequences(job: Job, tp: int) -> str:
    """Why a layout has no sequence parallelism."""
    whole = f"seq_len {job.train.seq_len} does not divide over tp {tp}"
    why = whole if options_of(job).sequence_parallel else "sequence_parallel is off"
    return f"tp_overlap needs sequence parallelism, and {why}"


PREDICATES = (
    Predicate(
        "PAR439",
        "tp-overlap",
        "tp_overlap without sequence parallelism",
        ("tp",),
        lambda job, tp: (not options_of(job).tp_overlap) | (tp == 1) | sequence_parallel(job, tp),
        _whole_sequences,
        f"{CORE} megatron/training/arguments.py:1402",
    ),
    Predicate(
        "PAR440",
        "fsdp-overlap",
        "dp_overlap = false with Megatron-FSDP (zero 2 and 3)",
        ("zero",),
        lambda job, zero: options_of(job).dp_overlap | (zero < 2),
        lambda job, zero: f"zero {zero} is Megatron-FSDP, which overlaps its traffic always",
        f"{CORE} core/distributed/fsdp/src/megatron_fsdp/megatron_fsdp.py:330",
        stricter="Megatron-FSDP starts, and overlaps all the same",
        effect=Effect.IGNORES,
    ),
    Predicate(
        "PAR441",
        "graph-dropout",
        "cuda_graph with dropout in attention that is recomputed",
        ("recompute",),
        lambda job, recompute: (
            (recompute != 1) | (not options_of(job).cuda_graph) | (job.train.dropout == 0)
        ),
        lambda job, recompute: (
            f"cuda_graph cannot recompute attention (recompute selective) with dropout {job.train.dropout:g}"
        ),
        f"{CORE} core/transformer/transformer_config.py:2545",
    ),
    Predicate(
        "PAR454",
        "interleaving-overlap",
        "interleaving over two stages without overlapped transfers between them",
        ("pp", "vpp"),
        lambda job, pp, vpp: (not _waits_for_transfers(job)) | (pp > 2) | (vpp == 1),
        lambda job, pp, vpp: (
            f"vpp {vpp} without overlapped transfers needs pp > 2, and pp is {pp}"
        ),
        f"{CORE} megatron/training/arguments.py:972",
    ),
)


def problems(job: Job) -> Iterator[Diagnostic]:
    """Settings that Megatron-LM would ignore or break at, and options in `extra` that have a setting."""
    options, train = options_of(job), job.train
    if options.grad_dtype == "bf16" and train.precision == "fp16":
        message = "`grad_dtype = bf16` with precision fp16: gradients of fp16 runs are fp16 or fp32"
        yield contradiction(
            job, "megatron", "grad_dtype", message, "leave grad_dtype out, or train in bf16"
        )
    if options.moment_dtype == "bf16" and (train.optimizer != "adam" or train.precision == "fp16"):
        # core/optimizer/optimizer_config.py:431; fp16 runs have no published states in bf16.
        message = f"`moment_dtype = bf16` with {train.optimizer} in {train.precision}"
        cure = "leave moment_dtype out, or train with adam in bf16"
        yield contradiction(job, "megatron", "moment_dtype", message, cure)
    for message in transformer_engine.attention_problems(job):
        yield contradiction(
            job, "megatron", "attention_kernel", message, "leave attention_kernel out"
        )
    for message in tensor_overlap.problems(job):
        yield contradiction(job, "megatron", "tp_overlap", message, "leave tp_overlap out")
    for message in context_ways.problems(job):
        yield contradiction(job, "megatron", "cp_comm", message, "leave cp_comm out")
    for message in dispatcher.problems(job):
        cure = "dispatcher = alltoall" + (", or hybridep" if "NVLink" in message else "")
        yield contradiction(job, "megatron", "dispatcher", message, cure)
    for message in exchange_overlap.problems(job):
        yield contradiction(job, "megatron", "ep_overlap", message, "leave ep_overlap out")
    for message in transformer_engine.recipe_problems(job):
        yield contradiction(job, "megatron", "fp8_recipe", message, "leave fp8_recipe out")
    for message in _graph_problems(job) if options.cuda_graph else ():
        yield contradiction(job, "megatron", "cuda_graph", message, "cuda_graph = false")
    for key, value in options.extra.items():
        name = option_name(key)
        layers = name == "--cuda-graph-impl" and value in LAYERS
        if name in ROWS.said and value is not False and not layers:
            yield said_in_extra(job, "megatron", key, ROWS.said[name])


def _graph_problems(job: Job) -> Iterator[str]:
    """Settings that `cuda_graph` does not support: it replays the first steps (core/full_cuda_graph.py)."""
    options = options_of(job)
    if job.model.moe and not dispatcher.fixed_capacity(job):
        yield "`cuda_graph` with experts, whose tokens the host counts in every layer"
    if job.train.ramp_from is not None:
        yield "`cuda_graph` with a growing batch, and a graph replays one number of micro-batches"
    if options.sft:
        yield "`cuda_graph` with `sft`, whose sequences hold conversations of any number and length"
    if "--cuda-graph-impl" in asked(options):
        yield "`cuda_graph` and `cuda-graph-impl` of `extra` are two graphs"
