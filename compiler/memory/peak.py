"""Peak memory of a rank: KiB as visible sums and maxima of cost terms over an algebra.

Three moments of a step can be the peak. Around the loss the last rank holds its activations and the logits.
In the backward pass a rank holds its activations, one layer's recomputed activations and their gradients.
In the update it holds no activations, but all gradients and the optimizer's temporary buffers.
"""

from dataclasses import replace

from ..algebra import KIB, Algebra, Term, Value, added, whole
from ..case import Case
from ..pipeline.rank_load import FLIGHT, Load, kinds, one_stage, role_load
from . import activations as memory
from . import model_states
from .model_states import SCALE

#: One part in so many of what torch has allocated lies in gaps between blocks. SimuMax's B200 release v1.2
#: prints allocated and reserved bytes of four layouts: 2.8, 2.9, 3.0 and 6.5 % apart.
FRAGMENTS = 32
#: The same on one GPU, which has one stream of kernels and growing segments: 0.1 to 0.3 of 39 to 76 GiB where
#: torchtitan's steps are replayed by the allocator's rules, 0.4 and 0.5 of 47 and 49 GiB in own runs of
#: DeepSpeed, freed logits apart.
LONE_FRAGMENTS = 128


def layer_activations(x: Algebra[Value]) -> dict[str, Value]:
    """KiB of activations that one layer keeps for one micro-batch, by kind of block."""
    attention = x.term(memory.attention_activation)
    terms = {"dense": memory.dense_activation, "moe": memory.moe_activation}
    return {kind: attention + x.term(terms[kind]) for kind in kinds(x.case)}


def activations(x: Algebra[Value], load: Load[Value]) -> Value:
    """KiB of activations that a rank keeps: its layers' for all micro-batches in flight, its MTP blocks' for
    one, and the pipeline's buffers."""
    kept, boundary = layer_activations(x), x.term(memory.boundary_activation)
    one = x.number(0)
    for kind, layer in kept.items():
        one = one + x.replaced(load.held[kind], load.recomputed[kind], layer, boundary)
    if not load.last:
        one = one + x.term(memory.stage_output)
    if load.first:
        one = one + x.term(memory.embedding_activation)
    elif load.last:
        one = one + x.times(x.term(one_stage), x.term(memory.embedding_activation))
    held = x.over(x.times(one, load.flight), FLIGHT) + x.term(memory.pipeline_buffers)
    last = list(kept.values())[-1]
    return held + x.times(x.case.model.mtp_layers, last) if load.last else held


def backward_moment(x: Algebra[Value]) -> Value:
    """KiB of workspace in the backward pass: one layer's recomputed activations, gradients of activations,
    gathered weights and their gradient. The feed-forward half is freed before attention's gradients.
    """
    terms = {"dense": memory.recomputed_dense_activation, "moe": memory.recomputed_moe_activation}
    feed_forward = x.largest(*(x.term(terms[kind]) for kind in kinds(x.case)))
    halves = x.largest(feed_forward + x.term(memory.workspace), x.term(memory.attention_workspace))
    weights = x.term(model_states.gathered_layers) + x.term(model_states.weight_gradient)
    return x.term(memory.recomputed_attention_activation) + halves + weights


def parameter_kib(x: Algebra[Value], load: Load[Value], common: Term, experts: Term) -> Value:
    """KiB of a rank's parameters: `common` bytes for each, `experts` for each of a routed expert."""
    total = x.times(load.common, x.term(common))
    if x.case.model.moe:
        total = total + x.times(load.experts, x.term(experts))
    return x.over(total, SCALE)


def copied_weights(x: Algebra[Value], load: Load[Value]) -> Value:
    """KiB of quantized copies of a rank's blocks, MTP blocks as those of the last kind."""
    if not model_states.copies_weights(x.case):
        return x.number(0)
    terms = {"dense": model_states.copied_dense_weights, "moe": model_states.copied_moe_weights}
    copies = {kind: x.term(terms[kind]) for kind in kinds(x.case)}
    held = added(x, (x.times(load.held[kind], each) for kind, each in copies.items()))
    last = list(copies.values())[-1]
    return held + x.times(x.case.model.mtp_layers, last) if load.last else held


def unallocated_gradients(x: Algebra[Value], load: Load[Value]) -> Value:
    """KiB of a rank's gradients that the backward pass of the step's only micro-batch has yet to allocate."""
    return parameter_kib(
        x,
        load,
        model_states.unallocated_gradient_width,
        model_states.expert_unallocated_gradient_width,
    )


def moments(x: Algebra[Value], load: Load[Value]) -> dict[str, Value]:
    """KiB in addition to states and buffers, by moment. The states count all gradients, so every moment
    but the update subtracts the unallocated ones."""
    held = activations(x, load) - unallocated_gradients(x, load)
    found = {
        "workspace": held + backward_moment(x),
        "update": parameter_kib(x, load, model_states.step_width, model_states.expert_step_width),
    }
    if load.last:
        kept = x.term(memory.kept_logits)
        found = {name: moment + 2 * kept for name, moment in found.items()}
        return {**found, "logits": held + x.term(memory.loss_moment) + kept}
    if load.first:
        left = activations(x, replace(load, flight=in_flight_after_backward(x, load)))
        left = left - unallocated_gradients(x, load)
        return {**found, "embedding": left + x.term(model_states.embedding_gradient)}
    return found


def in_flight_after_backward(x: Algebra[Value], load: Load[Value]) -> Value:
    """Micro-batches in flight, in 1/FLIGHT, when one has just ended its backward pass on the first rank."""
    return x.largest(load.flight - x.over(FLIGHT, x.variable("vpp")), 0)


def fixed_kib(case: Case) -> int:
    """KiB that are the same for every layout: context, NCCL, allocator, communication buffers."""
    return -(-(context_bytes(case) + case.traits.memory.buffers(case.job)) // KIB)


def context_bytes(case: Case) -> int:
    """Bytes outside PyTorch's allocator: the GPU's `reserve`, of which a job on one GPU has the context and
    the kernels, and no buffers of collectives."""
    alone = case.traits.memory.lone_context
    if alone is None or not is_known_alone(case):
        return case.gpu.reserve
    return min(case.gpu.reserve, alone)


def is_known_alone(case: Case) -> bool:
    """Whether a job has one GPU, in a framework whose memory there is known."""
    return case.alone and case.traits.memory.lone_context is not None


def rank_memory(x: Algebra[Value], load: Load[Value]) -> dict[str, Value]:
    """KiB on a rank at its peak, by part; the sum must stay below the GPU's memory."""
    kept = parameter_kib(x, load, model_states.state_width, model_states.expert_state_width)
    copied = copied_weights(x, load)
    found = moments(x, load)
    # The update's buffers are few and large: they leave no gaps.
    small = x.largest(*(moment for name, moment in found.items() if name != "update"))
    fullest, gaps = x.largest(*found.values()), fragments(x, kept + copied, small)
    left = loss_gap(x, found, fullest, gaps) if load.last else x.number(0)
    return {
        "states": kept,
        "copied_weights": copied,
        "moment": fullest,
        "fragments": gaps + left,
        "buffers": x.number(fixed_kib(x.case)),
    }


def fragments(x: Algebra[Value], stays: Value, moves: Value) -> Value:
    """KiB in the allocator's gaps: a part of all that is allocated, or a larger one of what comes and goes
    where gradients are allocated among it and stay."""
    if gaps := x.case.traits.memory.gaps:
        return x.over(moves * whole(gaps * FRAGMENTS), FRAGMENTS)
    return x.over(stays + moves, LONE_FRAGMENTS if is_known_alone(x.case) else FRAGMENTS)


def loss_gap(x: Algebra[Value], found: dict[str, Value], fullest: Value, gaps: Value) -> Value:
    """KiB by which the loss, with the place of freed logits that it cannot use, stands above the fullest
    moment and its gaps: small gaps are filled in among them but on one GPU, whose gaps are fewer.
    """
    if not x.case.traits.memory.freed_logit_bytes:
        return x.number(0)
    loss = found["logits"] + x.term(memory.freed_logits)
    return x.excess_beside(loss, fullest if is_known_alone(x.case) else fullest + gaps)


def peak_memory(x: Algebra[Value]) -> Value:
    """KiB on the fullest rank."""
    return x.largest(*(role_memory(x, role) for role in x.case.roles))


def role_memory(x: Algebra[Value], role: str) -> Value:
    """KiB on the fullest rank of a role."""
    return added(x, rank_memory(x, role_load(x, role)).values())


def host_memory(x: Algebra[Value]) -> Value:
    """KiB of one GPU's share in host memory."""
    width, loads = x.term(model_states.host_width), [role_load(x, role) for role in x.case.roles]
    total = x.times(x.largest(*(load.common for load in loads)), width)
    if x.case.model.moe:
        total = total + x.times(x.largest(*(load.experts for load in loads)), width)
    return x.over(total, SCALE)
