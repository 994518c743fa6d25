"""torchtitan as the compiler sees it: the degrees it may choose, what it cannot run, what it costs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ...compiler.model import parameters
from ...compiler.rules.candidate_degrees import (
    gpu_divisors,
    micro_batches,
    pipeline_degrees,
    replica_degrees,
    virtual_stages,
)
from ...compiler.target import Target
from ...compiler.traits import (
    KernelTraits,
    MemoryTraits,
    PipelineTraits,
    StateBytes,
    Traits,
    WireTraits,
)
from ...dsl.diagnostics import Diagnostic
from ...dsl.job import Job
from .. import cautions, environment, observation, stack_problems
from ..extra import unpriced
from ..host import HOST
from ..pytorch_kernels import LONE_CONTEXT
from . import data, eager, extra, stack
from .constraints import PREDICATES
from .models import family
from .options import Options, options_of
from .refusals import REFUSALS
from .releases import release
from .training_refusals import REFUSALS as TRAINING_REFUSALS


def domains(job: Job) -> Mapping[str, Sequence[int]]:
    """Candidate values; what they may not combine is in the predicates."""
    model, degrees = job.model, gpu_divisors(job)
    heads = model.heads if model.mla else model.groups
    tp = tuple(k for k in degrees if model.heads % k == 0 and heads % k == 0)
    pp = pipeline_degrees(job) if family(job) in release(job).pipelined else (1,)
    return {
        "tp": tp,
        "pp": pp,
        "vpp": virtual_stages(job, pp),
        "cp": degrees if family(job) in release(job).divided else (1,),
        "ep": tuple(k for k in degrees if model.experts % k == 0) if model.moe else (1,),
        "etp": tp if model.moe else (1,),
        "dp_replicate": replica_degrees(job),
        "dp_shard": replica_degrees(job),
        "zero": (0, 1, 2, 3),
        "micro_batch": micro_batches(job),
        "recompute": (0, 1, 2),
        "order": stack.orders(job),
    }


def state(job: Job, zero: int) -> StateBytes:
    """fp32 shards (4), their Adam moments (8) and fp32 gradients (4), as FSDP2's mixed precision keeps them.

    Without FSDP, autocast keeps bf16 copies beside whole fp32 weights, and DDP's buckets double the gradients
    (apply_ddp leaves gradient_as_bucket_view off). In a pipeline (zero 1) torch 2.13.0 accumulates whole
    gradients in the reduce dtype and keeps weights gathered until the last micro-batch
    (distributed/pipelining/stage.py:845, fsdp/_fully_shard/_fsdp_param.py:802). Zero 2 never frees them.
    zero_grad sets gradients to None (train.py:train_step), but to zeros under 0.3.0's CUDA graphs
    (trainer.py:874), which experts over ep have none of; the fused AdamW updates in place.
    """
    graphed = stack.graphed(job) and zero != 1 and (not job.model.moe or forced(job))
    alone = eager.alone(job)
    return StateBytes(
        weights=4.0,
        gradients=8.0 if zero == 0 and not alone else 4.0,
        optimizer=8.0,
        weights_sharded=zero >= 1,
        gradients_sharded=zero >= 2,
        optimizer_sharded=zero >= 1,
        gathered=0.0 if zero == 3 else 2.0,
        gradients_stay=(zero == 0 and not alone) or graphed,
    )


def forced(job: Job) -> bool:
    """Whether every layout is to be a CUDA graph."""
    return options_of(job).cuda_graph is True


#: The script that starts a run.
ENTRY = "torchtitan/launch.sh"
TRAITS = Traits(
    memory=MemoryTraits(
        state=state,
        # selective_ac_option "op" keeps the outputs of attention, of every other aten.mm, of reduce-scatters
        # and, in deepseek_v3, of all-to-alls; norms, rope, activation and grouped expert products run again
        # (distributed/activation_checkpoint.py:95, _op_sac_save_list in each parallelize.py).
        selective="per_op",
        # components/loss.py: the backward of log_softmax holds its fp32 output, gradient in and gradient out.
        # Under tp's loss_parallel: that output, zeros for the gradient, its exponential and their sum
        # (torch 2.13.0, distributed/tensor/parallel/loss.py).
        logit_bytes=12.0,
        local_logit_bytes=16.0,
        # The same file: 16-bit logits lie before their fp32 copy, and train.py drops them before the backward
        # pass. Its first fp32 gradient takes the place of both, its second does not fit in what is left.
        freed_logit_bytes=2.0,
        lone_context=LONE_CONTEXT,
        autocasts=eager.alone,
        repeats_keys=lambda job: release(job).repeated_keys,
        # torch 2.13.0, distributed/pipelining/stage.py: fwd_cache holds each output beside its inputs.
        keeps_outputs=True,
        # tensor/parallel/style.py, PrepareModuleInput: the gathered input is what autograd saves.
        keeps_gathered=True,
        # fsdp/_fully_shard/_fsdp_collectives.py: 16-bit gradients and the fp32 input of their reduce-scatter.
        layer_gradient_bytes=6.0,
    ),
    wire=WireTraits(
        # Per micro-batch: before forward, and again before backward when freed between (apply_fsdp). A
        # pipeline gathers once per step.
        gathers=lambda zero: {2: 1, 3: 2}.get(zero, 0),
        # train.py:train_step never turns gradient sync off between micro-batches; a pipeline does.
        reduces_each=lambda zero: zero != 1,
        # torch rotates by all-gather unless told; 0.2.2 tells it in validation alone
        # (components/validate.py:207).
        contexts=("all_gather",),
        # mixed_precision_reduce can be float32 alone.
        reduce_bytes=4.0,
        # apply_fsdp: one transformer block is one unit.
        bucket=lambda job, ranks, ways: parameters.dense_layer(job.model).total / ways,
    ),
    kernels=KernelTraits(
        # torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py: foreach_all_gather_copy_out reads and
        # writes the gathered weights in 16 bits; foreach_reduce packs 16-bit gradients in the reduce dtype.
        gather_copy_bytes=4.0,
        reduce_copy_bytes=6.0,
        # torch.nn.functional.cross_entropy in fp32: widened (6), log-softmax in two passes (12), its gradient
        # in two (16), filled with zeros before (4), narrowed (6).
        loss_bytes=44.0,
        # nn.RMSNorm is one kernel; rope and silu are not unless compiled.
        fused=False,
        compiles=True,
        sum_bytes=eager.sum_bytes,
        first_sum_bytes=eager.first_sum_bytes,
        permuted_bytes=eager.permuted_bytes,
    ),
    host=replace(HOST, layer_share=eager.host_share),
    # torch 2.13.0, distributed/pipelining/schedules.py:ScheduleInterleaved1F1B, microbatches_per_round.
    pipeline=PipelineTraits(few_microbatches=True),
)


def settings(job: Job) -> Iterator[Diagnostic]:
    """Settings of the target block that disagree."""
    yield from observation.problems(job, "torchtitan")
    yield from data.problems(job)
    yield from environment.problems(job, ())
    yield from stack.problems(job)
    yield from extra.problems(job)


def checkpoints(job: Job) -> dict[str, str]:
    """The folder of which one below, `checkpoint`, is loaded from where it has any."""
    return {"dump_folder": options_of(job).dump_folder}


TARGET = Target(
    name="torchtitan",
    checkpoints=checkpoints,
    options=Options,
    domains=domains,
    predicates=PREDICATES + stack.PREDICATES,
    refusals=REFUSALS + TRAINING_REFUSALS,
    traits=TRAITS,
    # benchmarks/data/measured_public.csv: torchtitan's own benchmarks of December 2024 on.
    measured=True,
    measured_on={"dense": ("sm80", "sm90")},
    cautions=(
        cautions.made_up_data("torchtitan"),
        cautions.UNBALANCED,
        unpriced("torchtitan", extra.costs, lambda options: options.extra),
    ),
    stack=stack.traits,
    settings=settings,
    codes={
        **extra.CODES,
        **observation.CODES,
        **environment.CODES,
        **data.CODES,
        **stack_problems.CODES,
    },
)
