"""A plan -> the plan of a job so small that a few processes train it, with the same choices as `require`."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from ..backends.following import Need
from ..compiler import plan as solve
from ..compiler.plan import Layout, Plan
from ..compiler.rules.validity import problems
from ..compiler.target import Target
from ..dsl.job import Constraint, Goal, Job, TargetSpec, Train
from ..dsl.model import Model
from .layout import cuts
from .small_model import (
    LAYERS,
    LONG_SEQUENCE,
    OFFLOADED_LAYERS,
    SEQUENCE,
    small_model,
    small_train,
)

#: Decisions that the shrunken job requires, so that the solver returns exactly the reduced layout.
REQUIRED = (
    "tp", "pp", "vpp", "cp", "ep", "etp", "dp_replicate", "dp_shard", "zero", "micro_batch",
    "microbatches", "recompute", "recompute_layers", "offload", "hpz", "order",
)  # fmt: skip
#: Degrees of a layout that the report compares.
COMPARED = ("pp", "vpp", "tp", "cp", "ep", "etp", "dp_replicate", "dp_shard", "hpz")


@dataclass(frozen=True)
class Room:
    """Limits of a run: processes and steps at most, and whether each process has a GPU."""

    processes: int
    steps: int
    gpus: bool = False


def shrunken(
    plan: Plan, target: Target, room: Room, options: object, previous: Job | None = None
) -> Plan | None:
    """The solved plan of the shrunken job with these target settings; None when the framework runs no reduced
    layout. It begins with the weights of `previous`, the shrunken job of the stage before, and has its model.
    """
    lengths, positions = (SEQUENCE, LONG_SEQUENCE), _positions(plan.job.model)
    for layout, tokens, kept in product(cuts(plan.layout, room.processes), lengths, positions):
        job = _job(plan, layout, room, tokens * layout.cp, options)
        model = previous.model if previous else job.model.model_copy(update=kept)
        job = job.model_copy(update={"model": model, "previous": previous})
        # A domain may depend on what the goal asks for.
        goal = Goal(constraints=tuple(_requirements(target, job, layout)))
        job = job.model_copy(update={"goal": goal})
        if _chosen(target, job, layout) and not problems(job, target, layout):
            return solve(job, target)
    return None


def _positions(model: Model) -> tuple[dict[str, int], ...]:
    """Shorter or, where a framework has no other than the model's, the same length before rope is scaled."""
    original = model.rope_original_positions
    return ({},) if original is None else ({}, {"rope_original_positions": original})


def _chosen(target: Target, job: Job, layout: Layout) -> bool:
    """Whether every value is in the target's domain of its variable."""
    tried = target.domains(job)
    return all(getattr(layout, name) in values for name, values in tried.items())


def _job(plan: Plan, layout: Layout, room: Room, length: int, options: object) -> Job:
    job = plan.job
    batch = layout.micro_batch * layout.microbatches * layout.dp
    stages = layout.pp * layout.vpp
    most_layers = OFFLOADED_LAYERS if layout.offload else LAYERS
    cluster = {"nodes": (1,), "gpus_per_node": layout.gpus, "nvlink_domain": None, "pod_gpus": None}
    return job.model_copy(
        update={
            "model": small_model(job.model, job.train.seq_len, stages, length, most_layers),
            "train": small_train(job.train, room.steps, length, batch, room.gpus),
            "cluster": job.cluster.model_copy(update=cluster),
            "goal": Goal(),
            "targets": (TargetSpec(name=plan.target, options=options),),
            "launch": None,
            "previous": None,
            "steps_before": 0,
        }
    )


def _requirements(target: Target, job: Job, layout: Layout) -> Iterator[Constraint]:
    decided = {*target.domains(job), "microbatches"}
    for name in REQUIRED:
        if name in decided:
            yield Need(name, "==", getattr(layout, name)).required("parc smoke")


def not_exercised(before: Plan, after: Plan, gpus: bool) -> list[str]:
    """Lines that name what the full plan has and the small one does not exercise."""
    lost = [
        f"{name} {getattr(before.layout, name)}: {_became(getattr(after.layout, name))}"
        for name in COMPARED
        if getattr(before.layout, name) != getattr(after.layout, name)
    ]
    if before.layout.zero != after.layout.zero:
        lost.append(f"zero {before.layout.zero}: zero {after.layout.zero} was trained")
    if before.layout.offload != after.layout.offload:
        lost.append(
            f"offload {before.layout.offload_name}: {after.layout.offload_name} was trained"
        )
    lost += [f"layers {before.job.model.layers}: {after.job.model.layers} were trained"] * (
        before.job.model.layers != after.job.model.layers
    )
    lost += [f"experts {before.job.model.experts}: {after.job.model.experts} were trained"] * (
        before.job.model.experts != after.job.model.experts
    )
    return [*lost, *_of_training(before.job.train), *_of_machine(before, gpus)]


def _of_training(train: Train) -> Iterator[str]:
    if train.weights:
        yield f"weights of {train.weights}: drawn ones were trained"
    if train.ramp_from:
        yield f"the batch that grows from {train.ramp_from} sequences: it was full from the start"


def _became(degree: int) -> str:
    return f"{degree} was trained" if degree > 1 else "not exercised"


def _of_machine(before: Plan, gpus: bool) -> Iterator[str]:
    train, layout = before.job.train, before.layout
    yield "the sizes of the job: memory and speed at full width"
    if layout.nodes > 1:
        yield f"{layout.nodes} nodes: one was used"
    if gpus:
        return
    if train.precision != "bf16":
        yield f"{train.precision}: CPUs trained in bf16"
    if train.compile:
        yield "torch.compile: kernels ran one by one"
    if train.async_checkpoints:
        yield "async_checkpoints: training waited for them"
    if layout.gpus > 1:
        yield "NCCL, NVLink and the network between nodes: gloo carried everything"
    yield "GPU kernels: PyTorch's CPU ones ran"
