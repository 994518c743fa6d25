"""Model states of a rank: bytes per parameter of weights, gradients and optimizer state by ZeRO stage, of
gathered layers, and of what offload moves to the host.

Terms are bytes per parameter in fixed point (1/SCALE), or KiB, rounded up; arguments and results are columns,
one number per layout. `zero` is the stage, `shard` the ranks that share a state.
"""

from __future__ import annotations

import numpy as np

from ..algebra import KIB, Array, Column, by_stage, term
from ..case import Case
from ..model import parameters

#: Units of a byte in the solver's integers of bytes per parameter.
SCALE = 4096
#: Layers whose gathered weights are alive at once under ZeRO 3: the running one and the prefetched one.
LIVE_LAYERS = 2
#: Share of a layer in its largest matrix: one of a feed-forward's two.
LARGEST_MODULE = 1 / 3
KINDS = ("weights", "gradients", "optimizer")


@term("1/4096 B", of=("zero", "shard", "offload", "hpz"))
def state_width(case: Case, zero: Column, shard: Column, offload: Column, hpz: Column) -> Column:
    """Bytes per parameter of model states on the GPU, but for routed experts."""
    return SCALE * sum(state_widths(case, zero, shard, offload, hpz).values())


@term("1/4096 B", of=("zero", "expert_shard", "offload", "hpz"))
def expert_state_width(
    case: Case, zero: Column, expert_shard: Column, offload: Column, hpz: Column
) -> Column:
    """Bytes per parameter of routed experts' model states on the GPU, sharded over fewer ranks."""
    return SCALE * sum(state_widths(case, zero, expert_shard, offload, hpz).values())


@term("1/4096 B", of=("zero", "shard", "accumulates"))
def unallocated_gradient_width(
    case: Case, zero: Column, shard: Column, accumulates: Column
) -> Column:
    """Bytes per parameter of gradients that are not yet allocated, but for routed experts."""
    return SCALE * unallocated_gradient_bytes(case, zero, shard, accumulates)


@term("1/4096 B", of=("zero", "expert_shard", "accumulates"))
def expert_unallocated_gradient_width(
    case: Case, zero: Column, expert_shard: Column, accumulates: Column
) -> Column:
    """Bytes per parameter of routed experts' gradients that are not yet allocated."""
    return SCALE * unallocated_gradient_bytes(case, zero, expert_shard, accumulates)


def unallocated_gradient_bytes(
    case: Case, zero: Column, shard: Column, accumulates: Column
) -> Column:
    """Bytes per parameter of gradients that are unallocated until the step's first backward pass, where the
    framework frees them after each update and a step has one micro-batch (`accumulates` is 0), else 0.
    """
    state = _state_fields(case, zero)
    absent = np.logical_not(state["gradients_stay"]) & (np.asarray(accumulates) == 0)
    return np.where(absent, _share(state, "gradients", shard), 0.0)


@term("1/4096 B", of=("zero", "shard", "offload"))
def step_width(case: Case, zero: Column, shard: Column, offload: Column) -> Column:
    """Bytes per parameter, but for routed experts, that the update briefly allocates on the GPU."""
    return SCALE * _step_bytes(case, zero, shard, offload)


@term("1/4096 B", of=("zero", "expert_shard", "offload"))
def expert_step_width(case: Case, zero: Column, expert_shard: Column, offload: Column) -> Column:
    """Bytes per parameter of routed experts that the update briefly allocates on the GPU."""
    return SCALE * _step_bytes(case, zero, expert_shard, offload)


def _step_bytes(case: Case, zero: Column, shard: Column, offload: Column) -> Column:
    state = _state_fields(case, zero)
    own = state["step"] / np.where(state["optimizer_sharded"], shard, 1)
    return np.where(np.asarray(offload) >= 1, 0.0, own + state["step_whole"])


@term("1/4096 B", of=("zero", "shard", "offload"))
def host_width(case: Case, zero: Column, shard: Column, offload: Column) -> Column:
    """Bytes per parameter that offload keeps in host memory."""
    state = _state_fields(case, zero)
    optimizer, weights = (_share(state, kind, shard) for kind in ("optimizer", "weights"))
    gradients = np.where(case.sums_on_host(zero, offload), _share(state, "gradients", shard), 0.0)
    copied = case.traits.memory.host_gradient_bytes / np.where(state["optimizer_sharded"], shard, 1)
    moved = np.where(offload >= 1, optimizer + copied, 0.0) + np.where(offload == 2, weights, 0.0)
    return SCALE * (moved + gradients)


@term("KiB", of=("tp", "expert_ways", "zero"))
def gathered_layers(case: Case, tp: Column, expert_ways: Column, zero: Column) -> Column:
    """KiB of the gathered weights of the layers alive at once and of one layer's unsharded gradient; 0 where
    gathered weights are not freed."""
    layer = layer_parameters(case, tp, expert_ways)
    live = LIVE_LAYERS * layer
    if case.traits.memory.live_parameters is not None:
        whole = case.model.layers * layer
        live = np.clip(case.traits.memory.live_parameters, LARGEST_MODULE * layer, whole)
    alive = case.traits.wire.gather_bytes * live + case.traits.memory.layer_gradient_bytes * layer
    return np.where(frees_gathered_weights(case, zero), alive, 0.0) / KIB


@term("KiB", of=("tp",))
def weight_gradient(case: Case, tp: Column) -> Column:
    """KiB of a block's widest weight gradient, where computed apart from the step's sum."""
    width = (2 if case.model.gated else 1) * (case.model.ffn or case.model.expert_width)
    return case.traits.memory.weight_gradient_bytes * case.model.hidden * width / tp / KIB


@term("KiB", of=("tp", "zero"))
def copied_dense_weights(case: Case, tp: Column, zero: Column) -> Column:
    """KiB of the quantized copies of one dense layer's weights that stay for the step."""
    block = parameters.per_rank(case.dense_block, tp, 1)
    return _copied_bytes(case, zero) * block / KIB


@term("KiB", of=("tp", "expert_ways", "zero"))
def copied_moe_weights(case: Case, tp: Column, expert_ways: Column, zero: Column) -> Column:
    """KiB of the quantized copies of one MoE layer's weights that stay for the step."""
    if not case.model.moe:
        return 0.0 * np.asarray(tp)
    block = parameters.per_rank(case.moe_block, tp, expert_ways)
    return _copied_bytes(case, zero) * block / KIB


def copies_weights(case: Case) -> bool:
    """Whether any stage keeps quantized copies of weights."""
    return bool(np.any(_copied_bytes(case, np.arange(4))))


def _copied_bytes(case: Case, zero: Column) -> Column:
    copied = case.traits.memory.copied_weight_bytes
    return by_stage(lambda stage: copied(case.job, stage), zero)


@term("KiB", of=("tp", "pp"))
def embedding_gradient(case: Case, tp: Column, pp: Column) -> Column:
    """KiB of the 16-bit gradient of the token table, which no framework accumulates in place: whole on the
    first rank of a pipeline when a micro-batch ends there, with others in flight."""
    return np.where(np.asarray(pp) > 1, 2.0 * case.vocab(tp) * case.model.hidden / tp, 0.0) / KIB


def frees_gathered_weights(case: Case, zero: Column) -> Column:
    """True where weights are sharded and a layer's gathered weights are freed after it ran."""
    state = _state_fields(case, zero)
    return np.asarray(state["weights_sharded"] & (state["gathered"] == 0))


def layer_parameters(case: Case, tp: Column, expert_ways: Column) -> Column:
    """Parameters of the largest layer on a rank before ZeRO."""
    layer = (
        parameters.moe_layer(case.model) if case.model.moe else parameters.dense_layer(case.model)
    )
    return parameters.per_rank(layer, tp, expert_ways)


def state_widths(
    case: Case, zero: Column, shard: Column, offload: Column, hpz: Column
) -> dict[str, Column]:
    """Bytes per parameter on the GPU by kind of state; hpZ adds its secondary partition to the weights."""
    state = _state_fields(case, zero)
    weights, gradients, optimizer = (_share(state, kind, shard) for kind in KINDS)
    secondary = np.where(hpz > 1, 2.0 / np.maximum(hpz, 1), 0.0)
    return {
        "weights": np.where(offload == 2, 0.0, weights) + state["gathered"] + secondary,
        "gradients": np.where(case.sums_on_host(zero, offload), 0.0, gradients),
        "optimizer": np.where(offload >= 1, 0.0, optimizer),
    }


def _share(state: dict[str, Array], kind: str, shard: Column) -> Column:
    return state[kind] / np.where(state[f"{kind}_sharded"], shard, 1)


def _state_fields(case: Case, zero: Column) -> dict[str, Array]:
    """Each field of `StateBytes` as a column, for a column of ZeRO stages."""
    states = [case.state(stage) for stage in range(4)]
    zero = np.asarray(zero)
    return {
        name: np.array([getattr(state, name) for state in states])[zero] for name in vars(states[0])
    }
