"""Tensor-parallel traffic in pieces beside its products: user buffers of Transformer Engine."""

from collections.abc import Iterator

from ...compiler.rules.candidate_degrees import gpu_divisors
from ...dsl.job import Job
from .constraints.layouts import sequence_parallel
from .options import options_of
from .transformer_engine import recipe_of


def fast_degrees(job: Job) -> tuple[int, ...]:
    """Degrees that stay on the fast link and divide the heads."""
    domain, heads = job.cluster.domain, job.model.heads
    return tuple(k for k in gpu_divisors(job) if k <= domain and heads % k == 0)


def overlapped(job: Job) -> bool:
    """Whether layouts with tensor parallelism overlap its traffic: as the job says, else where it is known to
    run."""
    chosen = options_of(job).tp_overlap
    return _runs(job) if chosen is None else chosen


def _runs(job: Job) -> bool:
    """Dense models in bf16, or in fp8 scaled by tensors, on GPUs behind a switch that sums: the buffers are
    of bf16 or of fp8 (pytorch/module/base.py, initialize_ub), of one length of sequence, and in no graph.
    """
    options, train, cluster = options_of(job), job.train, job.cluster
    tensors = recipe_of(job) in ("delayed", "tensorwise")
    switched = cluster.gpu.switch_sums > 0 and not cluster.nvlink_mesh
    plain = not (job.model.moe or job.model.mla or options.sft or options.cuda_graph)
    divided = all(sequence_parallel(job, tp) for tp in fast_degrees(job) if tp > 1)
    return switched and plain and divided and (tensors or train.precision == "bf16")


def problems(job: Job) -> Iterator[str]:
    """Why a job cannot have the overlap that it names."""
    if not options_of(job).tp_overlap:
        return
    if job.train.precision == "nvfp4":
        # training/initialize.py:221 registers buffers of 16 bits without --fp8-format; Transformer Engine
        # looks for quantized ones (pytorch/module/base.py, get_ub).
        yield "`tp_overlap` with precision nvfp4, for which Megatron-LM registers no buffers"
    if job.model.mla:
        # core/extensions/transformer_engine.py:1181 switches it off again.
        yield "`tp_overlap` with latent attention, whose products Transformer Engine has no buffers for"
