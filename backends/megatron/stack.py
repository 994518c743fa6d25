"""What runs beneath `target megatron`: settings of kernels and traffic, what each changes in the price, and
the options of Megatron-LM that make it true."""

from collections.abc import Iterator, Mapping
from typing import Any

from ...compiler.target import Predicate
from ...dsl.diagnostics import Diagnostic
from ...dsl.job import Job
from ..stack_facts import Fixed, Said, Stack
from .options import options_of
from .rules import sequence_parallel

STACK = "PAR395"
CODES = {STACK: ("stack", "settings of kernels and traffic disagree, or are said in `extra`")}

FACTS: Stack = {
    "attention_kernel": Said("train.attention", "unfused", "unfused"),
    "norm_kernel": Fixed(
        "fused: Transformer Engine's",
        "megatron-core 0.19.2 core/extensions/transformer_engine_spec_provider.py:56",
    ),
    "loss_kernel": Fixed(
        "PyTorch's kernels",
        "megatron-core 0.19.2 core/model_parallel_config.py:320, cross_entropy_loss_fusion",
    ),
    "tp_overlap": Said("tp_overlap", True, "--tp-comm-overlap", where="tp"),
    "dp_overlap": Said("dp_overlap", False, "--overlap-grad-reduce", where="dp"),
    "grad_dtype": Said("grad_dtype", "bf16", "--grad-reduce-in-bf16"),
    "fp8_recipe": Fixed(
        "delayed, and blocks of 32 with mxfp8",
        "megatron-core 0.19.2 core/transformer/transformer_config.py:573",
    ),
    "cuda_graph": Fixed("none", "megatron-core 0.19.2 core/transformer/transformer_config.py:1032"),
}

#: Options of Megatron-LM that settings of the block write, and how each is said.
SAID_AS = {
    "--grad-reduce-in-bf16": "grad_dtype = bf16",
    "--tp-comm-overlap": "tp_overlap = true",
    "--overlap-grad-reduce": "dp_overlap, which is on",
    "--overlap-param-gather": "dp_overlap, which is on",
}


def traits(job: Job) -> Mapping[str, Any]:
    """Cost traits that the job's settings change, by name."""
    options, changed = options_of(job), dict[str, Any]()
    if options.grad_dtype == "bf16":
        changed |= {"reduce_bytes": 2.0, "layer_gradient_bytes": 4.0}
    if options.tp_overlap:
        # Transformer Engine's user buffers: collectives in pieces beside their products.
        changed["tensor_parallel"] = True
    if not options.dp_overlap:
        changed |= {"gradient_reduction": False, "updated_weight_gather": False}
    return changed


PREDICATES = (
    Predicate(
        "PAR439",
        "tp-overlap",
        "tp_overlap without sequence parallelism",
        ("tp",),
        lambda job, tp: ((not options_of(job).tp_overlap) | (tp == 1) | sequence_parallel(job, tp)),
        lambda job, tp: (
            f"tp_overlap needs sequence parallelism, and seq_len {job.train.seq_len} does not divide over "
            f"tp {tp}"
        ),
        "megatron-core 0.19.2 megatron/training/arguments.py:1402",
    ),
    Predicate(
        "PAR440",
        "fsdp-overlap",
        "dp_overlap = false with Megatron-FSDP (zero 2 and 3)",
        ("zero",),
        lambda job, zero: options_of(job).dp_overlap | (zero < 2),
        lambda job, zero: f"zero {zero} is Megatron-FSDP, which overlaps its traffic always",
        "megatron-core 0.19.2 core/distributed/fsdp/src/megatron_fsdp/megatron_fsdp.py:330",
        stricter="Megatron-FSDP starts, and overlaps all the same",
    ),
)


def problems(job: Job) -> Iterator[Diagnostic]:
    """Settings that Megatron-LM would ignore, and options in `extra` that have a setting."""
    options = options_of(job)
    if options.grad_dtype == "bf16" and job.train.precision == "fp16":
        yield Diagnostic(
            STACK,
            "`grad_dtype = bf16` with precision fp16: gradients of fp16 runs are fp16 or fp32",
            job.span("target", "megatron", "grad_dtype"),
            help="leave grad_dtype out, or train in bf16",
        )
    for key, value in options.extra.items():
        said = SAID_AS.get("--" + key.replace("_", "-"))
        if said and value is not False:
            yield Diagnostic(
                STACK,
                f"`extra` may not set `{key}`, which would not be priced there",
                job.span("target", "megatron", "extra"),
                help=f"say it with {said}",
            )
