"""The stack beneath `target torchtitan`: settings of kernels and traffic, what each changes in the price,
and facts that hold for every job."""

from collections.abc import Iterator, Mapping
from typing import Any

from ...compiler.pipeline.schedule import HALVED
from ...compiler.target import Predicate
from ...compiler.time.attention_kernels import ROWWISE, runs_on
from ...compiler.time.rank_groups import filled_domain
from ...dsl.diagnostics import Diagnostic
from ...dsl.expression import VALUES
from ...dsl.job import Job
from ..capability import BLACKWELL, HOPPER, capability
from ..pytorch_kernels import COMPILED_LOSS
from ..stack_facts import Fixed, Said, Stack
from ..stack_problems import contradiction, listed, runs_elsewhere, said_in_extra
from .data import evaluates
from .models import family
from .option_rows import ROWS
from .options import options_of
from .releases import release, since

TARGET = "torchtitan"


def attention(job: Job) -> str:
    """The kernel of attention in the block's words: the one chosen, else the release's own. gpt_oss has
    FlexAttention alone (0.2.2 models/gpt_oss/model/args.py:67)."""
    chosen = options_of(job).attention_kernel
    return chosen or ("flex" if family(job) == "gpt_oss" else release(job).attention[0])


def kernel(job: Job) -> str:
    """The kernel under the name that the compiler's `attention_kernels.py` has for it.

    Of 0.2.2's list AMD's GPUs have FlashAttention alone. 0.3.0's varlen is FlashAttention-3 on Hopper, 4 on
    Blackwell, else 2 (tools/utils.py:36), flex_flash FlashAttention-4 (config_utils.py:85).
    """
    chosen = attention(job)
    if chosen == "cudnn" and options_of(job).attention_kernel is None:
        return "cudnn" if job.cluster.gpu.vendor == "nvidia" else "fa2"
    if chosen == "varlen":
        generation = capability(job) if job.cluster.gpu.vendor == "nvidia" else 0
        return "fa4" if generation >= BLACKWELL else "fa3" if generation >= HOPPER else "fa2"
    return {"flex_flash": "fa4"}.get(chosen, chosen)


#: Modules that PyTorch imports for a kernel that it has not itself (torch/nn/attention/_fa3.py, _fa4.py).
PACKAGES = {"fa3": "flash_attn_interface", "fa4": "flash_attn.cute"}


def package(job: Job) -> str | None:
    """The package that the kernel needs beside PyTorch."""
    return PACKAGES.get(kernel(job))


def fused_loss(job: Job) -> bool:
    chosen = options_of(job).loss_kernel
    return job.train.compile if chosen is None else chosen == "fused"


def graphed(job: Job) -> bool:
    """Whether layouts that a CUDA graph can hold are run as one."""
    chosen = options_of(job).cuda_graph
    return release(job).graphs if chosen is None else chosen


def orders(job: Job) -> tuple[int, ...]:
    """Values of `order` that a plan may have: the block's schedule, else 1F1B. No run backs the price of
    divided backward passes, so a plan has them only where a job asks for them or leaves `schedule` open.
    """
    return (VALUES["order"][options_of(job).schedule or "1f1b"],)


def capturable(pp: Any, ep: Any) -> Any:
    """Layouts whose forward and backward pass one CUDA graph holds (0.3.0 trainer.py:179)."""
    return (pp == 1) & (ep == 1)


def traits(job: Job) -> Mapping[str, Any]:
    """Cost traits that the release and the job's settings decide, by name."""
    options, chosen = options_of(job), kernel(job)
    found: dict[str, Any] = {}
    if options.cp_comm != "all_gather":
        found["contexts"] = (options.cp_comm,)
    if runs_on(chosen, job.cluster.gpu.arch):
        found["attention_kernel"] = chosen
    if fused_loss(job):
        found |= COMPILED_LOSS
    if options.tp_overlap:
        # torch/_inductor/fx_passes/micro_pipeline_tp.py: collectives in pieces beside their products.
        found["tensor_parallel"] = True
    if job.train.precision == "fp8" and options.fp8_recipe != "tensorwise":
        # By row and with weight gradients in bf16: both at the pace of bf16.
        found["fp8_pace"] = ROWWISE
    if graphed(job):
        found["graphed"] = capturable
    return found


#: How a job says each fact, or what torchtitan always has.
FACTS: Stack = {
    "attention_kernel": Said("attention_kernel", "flex", 'attn_type="flex"'),
    "norm_kernel": Fixed("fused", "0.2.2 models/llama3/model/model.py:361: nn.RMSNorm, one kernel"),
    "loss_kernel": Said("loss_kernel", "fused", '"loss"'),
    "tp_overlap": Said(
        "tp_overlap",
        True,
        "enable_async_tensor_parallel",
        job={"compile": True},
        where="tp",
    ),
    "dp_overlap": Fixed(
        "on", "torch 2.13 distributed/fsdp/_fully_shard: gathers ahead, reduces in a stream"
    ),
    "grad_dtype": Fixed("fp32", "0.2.2 config/job_config.py: mixed_precision_reduce is float32"),
    "fp8_recipe": Said("fp8_recipe", "rowwise", '"rowwise"', job={"precision": "fp8"}),
    "fp8_params": Fixed(
        "off", "0.2.2 components/quantization/float8.py: fp32 or bf16 weights, cast in each product"
    ),
    "cuda_graph": Said("cuda_graph", False, "disable_cuda_graphs", block={"version": "0.3"}),
}


def _beyond_link(job: Job, tp: int) -> str:
    domain = job.cluster.domain
    if tp > domain:
        return f"tp_overlap joins the memory of {domain} GPUs at most, not of tp {tp}"
    return (
        "tp_overlap joins the memory of GPUs on one fast link, and groups of "
        f"tp {tp} straddle two domains of {filled_domain(job.cluster)}"
    )


PREDICATES = (
    Predicate(
        "PAR460",
        "attention-kernel-cp",
        "an attention kernel that torchtitan does not divide along sequences",
        ("cp",),
        lambda job, cp: (cp == 1) | divides(job),
        lambda job, cp: f"attention_kernel {attention(job)} has no context parallelism, not cp {cp}",
        "torchtitan 0.2.1 models/llama3/model/args.py:57; 0.2.2 models/qwen3/infra/parallelize.py:70, "
        "models/deepseek_v3/infra/parallelize.py:68; "
        "0.3.0 distributed/context_parallel/api.py:104",
    ),
    Predicate(
        "PAR455",
        "flex-selective",
        "selective recomputation of FlexAttention in a release that does it otherwise",
        ("recompute",),
        lambda job, recompute: (
            (recompute != 1) | (attention(job) != "flex") | release(job).flex_selective
        ),
        lambda job, recompute: (
            f"selective recomputation (recompute {recompute}) with attention_kernel flex: torchtitan "
            f"{release(job).name} repeats all of attention; "
            f"{since(lambda each: each.flex_selective, 'keeps it')}"
        ),
        "torchtitan 0.2.0 distributed/activation_checkpoint.py:252",
        stricter="the trainer is made, and repeats more than parc prices",
        cure='version = "0.2.1" in the target, or another attention_kernel',
    ),
    Predicate(
        "PAR459",
        "overlap-domain",
        "tp_overlap with tp beyond the GPUs that a fast link joins",
        ("tp",),
        lambda job, tp: (filled_domain(job.cluster) % tp == 0) | (not options_of(job).tp_overlap),
        _beyond_link,
        "torch csrc/distributed/c10d/symm_mem/CUDASymmetricMemory.cu: a host's file descriptors, "
        "or the fabric of NVLink",
        stricter="the trainer is made, and its first step cannot open another host's memory",
        cure="tp_overlap = false in the target",
    ),
    Predicate(
        "PAR461",
        "graph-layout",
        "cuda_graph = true with a pipeline or experts over ep",
        ("pp", "ep"),
        lambda job, pp, ep: capturable(pp, ep) | (options_of(job).cuda_graph is not True),
        lambda job, pp, ep: f"a CUDA graph supports neither pipeline nor experts over ep: pp {pp}, ep {ep}",
        "torchtitan 0.3.0 trainer.py:179",
        cure="leave cuda_graph out: layouts that a graph cannot hold then run without",
    ),
)


def divides(job: Job) -> bool:
    """Whether context parallelism knows the kernel: 0.2.2's llama3 alone divides flex, 0.3.0 no varlen."""
    chosen, written = attention(job), release(job)
    with_others = family(job) in written.divided - written.flex_divided
    return chosen != "varlen" and not (chosen == "flex" and with_others)


def problems(job: Job) -> Iterator[Diagnostic]:
    """Settings that the release, the GPU or another one contradicts, and keys of `extra` that have one."""
    yield from _attention(job)
    yield from _overlap(job)
    options = options_of(job)
    if options.fp8_recipe != "tensorwise" and job.train.precision != "fp8":
        message = f"`fp8_recipe = {options.fp8_recipe}` with precision {job.train.precision}"
        yield contradiction(job, TARGET, "fp8_recipe", message, "precision = fp8, in `train`")
    halved = VALUES["order"].get(options.schedule or "") in HALVED
    if halved and not release(job).halved_passes:
        message = (
            f"torchtitan {release(job).name} loses gradients where backward passes are divided"
        )
        message += f" (`schedule = {options.schedule}`)"
        yield contradiction(job, TARGET, "schedule", message, 'version = "0.2.2", or leave it out')
    if halved and job.train.compile:
        message = (
            f"PyTorch divides no backward pass when compiled (`schedule = {options.schedule}`)"
        )
        yield contradiction(job, TARGET, "schedule", message, "compile = false, in `train`")
    if options.cp_comm == "p2p" and not release(job).rotates:
        message = f"torchtitan {release(job).name} trains by all_gather alone (`cp_comm = p2p`)"
        yield contradiction(job, TARGET, "cp_comm", message, 'version = "0.2.1", or leave it out')
    if options.cuda_graph and not release(job).graphs:
        message = f"torchtitan {release(job).name} has no CUDA graphs (`cuda_graph = true`)"
        yield contradiction(job, TARGET, "cuda_graph", message, 'version = "0.3", or leave it out')
    for key in options.extra:
        section, _, name = key.rpartition(".")
        if key in ROWS.said and name in release(job).sections.get(section, {}):
            yield said_in_extra(job, TARGET, key, ROWS.said[key])


def _attention(job: Job) -> Iterator[Diagnostic]:
    chosen, known = options_of(job).attention_kernel, release(job).attention
    if chosen is None:
        return
    if chosen not in known:
        first = since(lambda each: chosen in each.attention)
        message = f"torchtitan {release(job).name} has no attention_kernel `{chosen}`; {first}"
        yield contradiction(job, TARGET, "attention_kernel", message, f"it has {listed(known)}")
        return
    if family(job) == "gpt_oss" and chosen != "flex":
        message = (
            f"torchtitan's gpt_oss supports only FlexAttention, not attention_kernel `{chosen}`"
        )
        yield contradiction(job, TARGET, "attention_kernel", message, "leave it out")
    if job.model.mla and chosen == "fa2":
        message = "FlashAttention-2 needs values as wide as keys, unlike latent attention's"
        yield contradiction(job, TARGET, "attention_kernel", message, "leave it out")
    if chosen == "flex" and evaluates(options_of(job)) and not release(job).flex_evaluated:
        first = since(lambda each: each.flex_evaluated, "has them")
        message = f"torchtitan {release(job).name} evaluates without flex's masks; {first}"
        yield contradiction(
            job, TARGET, "attention_kernel", message, "leave it or `validation` out"
        )
    yield from runs_elsewhere(job, TARGET, chosen, kernel(job))


def _overlap(job: Job) -> Iterator[Diagnostic]:
    if not options_of(job).tp_overlap:
        return
    if not job.train.compile:
        message = "`tp_overlap` needs torch.compile, and the job is not compiled"
        yield contradiction(job, TARGET, "tp_overlap", message, "compile = true, in `train`")
    if family(job) == "gpt_oss":
        # models/gpt_oss/infra/parallelize.py:100.
        message = "torchtitan's gpt_oss does not support `tp_overlap`"
        yield contradiction(job, TARGET, "tp_overlap", message, "leave it out")
