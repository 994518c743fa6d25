"""TRL under accelerate's FSDP2 as the compiler sees it: the layouts it may choose and what they cost."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...compiler.model import parameters
from ...compiler.rules.candidate_degrees import micro_batches, replica_degrees
from ...compiler.target import Target
from ...compiler.traits import KernelTraits, MemoryTraits, StateBytes, Traits, WireTraits
from ...compiler.tuning.ledger import (
    dequantized_bytes,
    frozen_bytes,
    scale_bytes,
    trained_share,
)
from ...dsl.job import Job
from .. import cautions
from ..host import HOST
from ..pytorch_kernels import LONE_CONTEXT
from . import stack
from .constraints import PREDICATES
from .options import Options, options_of
from .refusals import CODES, REFUSALS, settings

#: Tokens and words of the tile of logits that the loss has at a time (trl 1.16 kernels/chunked_logprob.py:31,
#: trainer/utils.py:1506), and its bytes.
TILE_TOKENS, TILE_WORDS, TILE_BYTES = 4096, 32_768, 2


def domains(job: Job) -> Mapping[str, Sequence[int]]:
    """Candidate values; what they may not combine is in the predicates."""
    data = replica_degrees(job)
    return {
        "dp_replicate": data,
        "dp_shard": data,
        "zero": (2, 3),
        "micro_batch": micro_batches(job),
        "recompute": (0, 2),
    }


def state(job: Job, zero: int) -> StateBytes:
    """fp32 shards of what is trained (4), its moments (8) and fp32 gradients (4); frozen shards of 16 bits.

    accelerate 1.15 utils/fsdp_utils.py:815: weights that are trained become fp32 before they are divided.
    torch 2.13 _fsdp_collectives.py, foreach_reduce: a reduced gradient is cast to the shard's dtype. zero 2
    (reshard_after_forward off) keeps gathered weights until the backward pass ends. A checkpoint has no
    frozen weights (transformers 5.23 trainer.py, _get_fsdp_ckpt_kwargs: adapter_only).
    """
    trained = trained_share(job)
    return StateBytes(
        weights=4.0 * trained + stack.divided_bytes(job),
        unsaved=frozen_bytes(job),
        gradients=4.0 * trained,
        optimizer=8.0 * trained,
        weights_sharded=True,
        gradients_sharded=True,
        optimizer_sharded=True,
        gathered=0.0 if zero == 3 else stack.gather_bytes(job),
        gradients_stay=False,
    )


def buffer_bytes(job: Job) -> int:
    """A tile of logits, the head's gradient in fp32 where it is trained (chunked_logprob.py:409), the scales
    of 4-bit weights and one matrix of them as it is multiplied."""
    model = job.model
    tile = TILE_BYTES * TILE_TOKENS * min(model.vocab, TILE_WORDS)
    head = 0 if job.train.adapters else 4 * model.vocab * model.hidden
    return tile + head + scale_bytes(job) + dequantized_bytes(job)


#: The script that starts a run.
ENTRY = "accelerate/launch.sh"
TRAITS = Traits(
    memory=MemoryTraits(
        state=state,
        # Never chosen: accelerate repeats whole layers.
        selective="feed_forward",
        # No logits beside a tile: `buffer_bytes`.
        logit_bytes=0.0,
        lone_context=LONE_CONTEXT,
        # _fsdp_collectives.py: 16-bit gradients and the 16-bit input of their reduce-scatter (accelerate's
        # policy reduces in the dtype of computation, utils/dataclasses.py:2137).
        layer_gradient_bytes=stack.LAYER_GRADIENT_BYTES,
        buffers=buffer_bytes,
    ),
    wire=WireTraits(
        # Before each forward pass, and again before the backward pass when freed between.
        gathers=lambda zero: zero - 1,
        # train.yaml: sync_each_batch; without it every rank would keep whole gradients.
        reduces_each=lambda zero: True,
        contexts=("all_gather",),
        reduce_bytes=2.0,
        # accelerate.yaml: one decoder layer is one unit.
        bucket=lambda job, ranks, ways: parameters.dense_layer(job.model).total / ways,
    ),
    kernels=KernelTraits(
        # _fsdp_collectives.py: gathered weights are copied out, gradients packed.
        gather_copy_bytes=4.0,
        reduce_copy_bytes=4.0,
        # As torch's cross_entropy in fp32 (backends/torchtitan/target.py), and a second log-softmax: the
        # backward pass repeats a chunk.
        loss_bytes=56.0,
        fused=False,
    ),
    # Assumed: Trainer's loop, metrics and logging.
    host=replace(HOST, micro_batch_overhead=2e-3),
)


def checkpoints(job: Job) -> dict[str, str]:
    """The folder of `save`, from which a restart resumes too."""
    return {"save": folder} if (folder := options_of(job).save) else {}


TARGET = Target(
    name="accelerate",
    checkpoints=checkpoints,
    options=Options,
    domains=domains,
    predicates=PREDICATES,
    refusals=REFUSALS,
    traits=TRAITS,
    cautions=(cautions.made_up_data("accelerate"), cautions.UNBALANCED),
    stack=stack.traits,
    settings=settings,
    codes=CODES,
)
