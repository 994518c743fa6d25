"""Expert dispatch and combine beside another micro-batch's work (`ep_overlap`): what Megatron-LM demands.

Its sources are read at megatron-core 0.19.0, and hold in 0.14.
"""

from collections.abc import Iterator
from typing import Any

from ...compiler.target import Effect, Predicate
from ...compiler.variables import WHOLE_MOE
from ...dsl.job import Job
from ...dsl.model import Model
from .options import options_of

CONFIG = "megatron-core 0.19.0 core/transformer/transformer_config.py"
#: Layers of multi-token prediction that its schedule knows (transformer_config.py:2710).
MTP_LAYERS = 1


def overlaps(job: Job, ep: int) -> bool:
    """Whether a layout overlaps the exchange: one rank has nobody to exchange with."""
    return options_of(job).ep_overlap and ep > 1


def _apart(job: Job, ep: Any) -> Any:
    """Where nothing is overlapped."""
    return (ep == 1) | (not options_of(job).ep_overlap)


def problems(job: Job) -> Iterator[str]:
    """Why no layout of a job has the overlap that it asks for."""
    options, model = options_of(job), job.model
    if not options.ep_overlap:
        return
    if not model.moe:
        yield "`ep_overlap` with a model without experts"
    if _predicted(model) > MTP_LAYERS:
        yield f"`ep_overlap` with mtp_layers {model.mtp_layers}, and its schedule supports {MTP_LAYERS}"
    if options.cuda_graph:
        yield "`ep_overlap` with `cuda_graph`, and no published run has both"


def _predicted(model: Model) -> int:
    return model.mtp_layers or 0


PREDICATES = (
    Predicate(
        "PAR477",
        "ep-overlap-stages",
        "ep_overlap in a pipeline without virtual stages",
        ("ep", "pp", "vpp"),
        lambda job, ep, pp, vpp: _apart(job, ep) | (pp == 1) | (vpp > 1),
        lambda job, ep, pp, vpp: f"ep_overlap at ep {ep} and pp {pp} needs virtual stages, not vpp {vpp}",
        f"{CONFIG}:2675",
    ),
    Predicate(
        "PAR478",
        "ep-overlap-recompute",
        "ep_overlap with full recomputation",
        ("ep", "recompute"),
        lambda job, ep, recompute: _apart(job, ep) | (recompute != 2),
        lambda job, ep, recompute: f"ep_overlap at ep {ep} does not support recompute full",
        f"{CONFIG}:2690",
    ),
    Predicate(
        "PAR499",
        "ep-overlap-moe",
        "ep_overlap with recomputation of the MoE half",
        ("ep", "recompute"),
        lambda job, ep, recompute: _apart(job, ep) | (recompute != WHOLE_MOE),
        lambda job, ep, recompute: (
            f"ep_overlap at ep {ep} cannot repeat the exchange of tokens (recompute moe)"
        ),
        f"{CONFIG}:2699",
    ),
    Predicate(
        "PAR479",
        "ep-overlap-batches",
        "ep_overlap with a single micro-batch, or with Megatron-FSDP",
        ("ep", "microbatches", "zero"),
        lambda job, ep, microbatches, zero: _apart(job, ep) | ((microbatches > 1) & (zero < 2)),
        lambda job, ep, microbatches, zero: (
            f"ep_overlap at ep {ep} needs zero 0 or 1 and several micro-batches, not zero {zero} and "
            f"{microbatches}"
        ),
        "megatron-core 0.19.0 core/pipeline_parallel/combined_1f1b.py:31",
        stricter="Megatron-LM starts, with nothing to overlap; Megatron-FSDP's hooks have no price",
        effect=Effect.IGNORES,
    ),
)
