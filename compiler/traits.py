"""How a framework spends memory and time where frameworks differ: facts that its backend declares with their
sources, in groups that the cost model's chapters read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from ..dsl.job import Job
from .algebra import Column

#: What `recompute = fine` can discard: the output of the norm before latent attention; queries, keys and
#: values that its up-projections make; all inside the feed-forward of dense layers; the output of the norm
#: before experts, and that of their activation function.
Discardable = Literal[
    "attention_norm", "up_projections", "dense_ffn", "expert_norm", "expert_activation"
]

#: A word of `dsl/exchanges.py`.
Exchange = Literal["p2p", "all_gather", "a2a", "hierarchical"]

#: `bucket(job, ranks, ways)`: parameters that one collective of gradients or weights carries on a rank, among
#: `ranks` data-parallel ranks, where tensor or expert parallelism divides the parameters by `ways`.
Bucket = Callable[[Job, Column, Column], Column]


@dataclass(frozen=True)
class StateBytes:
    """Bytes per parameter of one rank, each kept whole or divided by the shard group.

    `gathered` is a second, whole copy in compute precision that stays for the step (FSDP2 without reshard).
    `gradients_stay` is true where gradients are buffers that live as long as the run; else the backward pass
    allocates them and the update frees them. `step` is allocated during the update only, divided as the
    optimizer state is; `step_whole` is allocated during the update only, undivided. `unsaved` are bytes of
    `weights` that no checkpoint holds.
    """

    weights: float
    gradients: float
    optimizer: float
    weights_sharded: bool
    gradients_sharded: bool
    optimizer_sharded: bool
    gathered: float = 0.0
    gradients_stay: bool = True
    step: float = 0.0
    step_whole: float = 0.0
    unsaved: float = 0.0


@dataclass(frozen=True, kw_only=True)
class MemoryTraits:
    """Memory that stays allocated on a rank, and for how long."""

    state: Callable[[Job, int], StateBytes]
    """`state(job, zero)`: bytes per parameter of weights, gradients and optimizer state at a ZeRO stage."""
    gathers_keys: bool = False
    """Where context parallelism gathers keys and values, those of a whole sequence and their gradients lie
    beside attention's backward pass."""
    selective: Literal["core_attention", "per_op", "feed_forward"]
    """What `recompute = selective` drops and repeats (see `memory/activations.py`)."""
    discarded: tuple[Discardable, ...] = ()
    """What `recompute = fine` discards once it is used, and makes again in the backward pass."""
    checkpoints: Literal["whole", "divided", "host"] = "whole"
    """Where the inputs of fully recomputed layers stay: whole on each rank, divided over tp, or in host
    memory."""
    logit_bytes: float
    """Bytes held per logit at the loss: every copy in its dtype, the gradient included."""
    local_logit_bytes: float | None = None
    """Bytes held per logit at the loss where tp divides the vocabulary; None where equal to `logit_bytes`."""
    freed_logit_bytes: float = 0.0
    """Bytes per logit that are free once the loss is taken, and too small a gap for its fp32 gradients; not
    where tp divides the vocabulary."""
    cap_logit_bytes: float = 0.0
    """Further bytes per logit where the model caps its logits."""
    autocasts: Callable[[Job], bool] = lambda job: False
    """Residuals and norms are fp32, and each product casts its input to 16 bits (torch.autocast)."""
    norm_kept_bytes: float = 0.0
    """Bytes per element that a norm of several kernels keeps for its backward pass, beyond its input and
    output in 16 bits."""
    repeats_keys: Callable[[Job], bool] = lambda job: False
    """Attention copies keys and values for every query head, and keeps the copies for the backward pass."""
    live_parameters: float | None = None
    """Gathered parameters alive at once under ZeRO 3 where weights are gathered by module; None where they
    are gathered by layer."""
    layer_gradient_bytes: float
    """Bytes per parameter of one layer's whole gradient before it is reduced, where weights are gathered."""
    weight_gradient_bytes: float = 0.0
    """Bytes per parameter of the gradient of one weight that is computed apart from the sum of the step."""
    sums_on_host: Callable[[int], bool] = lambda zero: False
    """Whether an offloaded optimizer keeps the sum of a step's gradients in host memory, by ZeRO stage."""
    host_gradient_bytes: float = 0.0
    """Bytes per parameter of gradients copied to the host for an offloaded update, divided like the
    optimizer."""
    keeps_outputs: bool = False
    """A pipeline stage keeps its output until the gradient of the output arrives."""
    receive_buffers: int = 0
    """Activation-sized buffers of a pipeline rank for sending and receiving, in addition to the activations
    of micro-batches in flight."""
    output_logit_bytes: Callable[[Column], Column] = lambda pp: 0.0 * pp
    """`output_logit_bytes(pp)`: bytes per logit of the last stage's output, where a pipeline keeps the output
    of two micro-batches until it needs their buffers again."""
    keeps_gathered: bool = False
    """Inputs that tp gathers along the sequence are kept for the backward pass, not gathered again."""
    keeps_expert_outputs: bool = True
    """What routed experts return is kept for the backward pass, in which the router's scores weigh it."""
    saves_quantized: bool = False
    """Linear layers save their inputs as quantized for the product."""
    copied_weight_bytes: Callable[[Job, int], float] = lambda job, zero: 0.0
    """`copied_weight_bytes(job, zero)`: bytes per parameter of quantized copies of a block's weights that
    stay for the step, whole at any stage."""
    lone_context: int | None = None
    """Bytes of CUDA's context and kernels in a job on one GPU; None for the GPU's `reserve`."""
    buffers: Callable[[Job], int] = lambda job: 0
    """Fixed communication buffers, bytes."""
    gaps: float = 0.0
    """Share, in steps of 1/32, of activations, logits and workspace that lies in gaps of torch's allocator
    where the backward pass allocates whole gradients in blocks that these leave free; 0 where gradients have
    a place from the start, or segments of the allocator grow (`expandable_segments`)."""


@dataclass(frozen=True, kw_only=True)
class TensorTraits:
    """Parts that tensor parallelism divides, and parts that every one of its ranks holds whole."""

    sequence_parallel: bool = True
    """Norms, dropout and residuals are divided over tp along the sequence."""
    whole_sequences: bool = False
    """A tp that does not divide the sequence leaves it whole; elsewhere no layout has such a tp."""
    vocab_multiple: int = 1
    """The vocabulary is padded to a multiple of this times tp."""
    whole_embedding: bool = False
    """Every rank holds the whole token table."""
    gathers_logits: bool = False
    """Every rank holds the logits of the whole vocabulary."""


@dataclass(frozen=True, kw_only=True)
class WireTraits:
    """Traffic between ranks: how often, in how many bytes, by which collective."""

    gathers: Callable[[int], int]
    """All-gathers of weights per micro-batch at a ZeRO stage: 0, 1 or 2."""
    gather_bytes: float = 2.0
    """Bytes per parameter of gathered weights, on the wire and in memory."""
    reduces_each: Callable[[int], bool]
    """Whether gradients are reduced after every micro-batch instead of once per step, by ZeRO stage."""
    all_reduces: Callable[[int], bool] = lambda zero: False
    """Whether gradients are all-reduced whole at a ZeRO stage that divides them or their update."""
    reduce_bytes: float
    """Bytes per gradient element on the wire."""
    bucket: Bucket = lambda job, ranks, ways: 40e6
    """Parameters per collective of gradients or weights."""
    gather_bucket: Bucket | None = None
    """Parameters per collective of the step's gather of updated weights; None where equal to `bucket`."""
    updated_weight_bytes: Callable[[Job, int], float] = lambda job, zero: 2.0
    """`updated_weight_bytes(job, zero)`: bytes per parameter of the step's gather of updated weights."""
    wide_ports: int | None = None
    """Network ports of a node that the collectives of ZeRO 3 reach; None for all."""
    contexts: tuple[Exchange, ...]
    """How context parallelism exchanges keys and values: the ways that a layout may take, the first where
    none is faster."""
    dispatch: Literal["copies", "tokens"] = "copies"
    """What expert dispatch and combine send: a token once for each of its experts ("copies"), or once to each
    rank, and once to each fast domain, that has any of them ("tokens")."""
    dispatch_bytes: float = 2.0
    """Bytes per value that expert dispatch sends."""
    whole_boundary: bool = False
    """Without sequence parallelism every rank of tp sends all activations to the next pipeline stage, not
    its share of them."""


@dataclass(frozen=True, kw_only=True)
class OverlapTraits:
    """Which traffic runs concurrently with computation; all other traffic is exposed."""

    gradient_reduction: bool = True
    """The step's gradient reduction overlaps the backward pass of the last micro-batch."""
    micro_batch_reduction: bool = True
    """Gradient reductions after every micro-batch overlap the computation."""
    weight_gather: bool = True
    """Weight gathers of a micro-batch overlap the computation."""
    gather_quarters: int = 4
    """Quarters of a micro-batch's work that weight gathers can overlap."""
    updated_weight_gather: bool = True
    """The step's gather of updated weights overlaps the forward pass of the first micro-batch."""
    tensor_parallel: bool = False
    """Tensor-parallel collectives travel in pieces, concurrently with the products that need or make them."""
    tensor_parallel_backward: bool = False
    """Tensor-parallel collectives of the backward pass overlap the gradients of a half-layer's first
    products."""
    context_exchange: bool = True
    """Keys and values that travel a ring overlap attention."""
    expert_exchange: bool = False
    """Expert dispatch and combine of one micro-batch overlap the work of another."""


@dataclass(frozen=True, kw_only=True)
class KernelTraits:
    """Operations that the kernels of a framework fuse, and the bytes that its own copies move through GPU
    memory."""

    fused: bool = True
    """Norm, activation and rotary-embedding kernels are fused."""
    compiles: bool = False
    """`train.compile` fuses norm, activation and rotary-embedding kernels."""
    norm_bytes: float = 4.0
    """Bytes that a norm moves per element, forward: it reads and writes 16 bits where it is one kernel."""
    attention_kernel: str | None = None
    """The kernel of fused attention, one of `time/attention_kernels.py`; None for the GPU's fastest."""
    fp8_pace: float = 1.0
    """What fp8 products reach of those scaled by tensor, for which `fp8_efficiency` stands."""
    softmax_bytes: float = 3.0
    """Bytes per score that the softmax of unfused attention moves, forward: Megatron-LM's kernel reads the
    half that the mask leaves and writes all, 2 bytes each (scaled_upper_triang_masked_softmax.h)."""
    softmax_backward_bytes: float = 4.0
    """The same, backward."""
    fused_experts: bool = False
    """Grouped expert products apply activation, bias and casts to fp8 themselves."""
    padded_copies: bool = False
    """Each expert's tokens are padded by a copy for quantized products, not by the router."""
    loss_bytes: float
    """Bytes that the loss moves per logit, forward and backward."""
    gather_copy_bytes: float = 0.0
    """Bytes moved per parameter to lay out the weights that one gather brought."""
    reduce_copy_bytes: float = 0.0
    """Bytes moved per parameter to lay out gradients for one reduction after a micro-batch."""
    sum_bytes: Callable[[Job, int], float] | None = None
    """`sum_bytes(job, zero)`: bytes moved per parameter to add a micro-batch's gradient to the step's sum;
    None where the products of weight gradients accumulate (Megatron-LM since 2022)."""
    first_sum_bytes: Callable[[Job], float] = lambda job: 0.0
    """Bytes per parameter of these that the first micro-batch of a step does not move."""
    permuted_bytes: Callable[[Job], tuple[float, float] | None] = lambda job: None
    """Bytes per value of a token copy that permutation around the experts moves, forward and backward; None
    for what its dispatch usually takes."""


@dataclass(frozen=True, kw_only=True)
class HostTraits:
    """Seconds that the host takes, and gaps in which the GPU waits for its next kernel."""

    host_seconds: float = 0.0
    """Host work to launch one forward half-layer (attention or feed-forward), seconds."""
    expert_host_seconds: float = 0.0
    """Host work to launch the experts of one forward layer, router and dispatch included, seconds."""
    layer_share: Callable[[Job, int], float] = lambda job, recompute: 1.0
    """`layer_share(job, recompute)`: the host's work for a layer over these, by mode of recomputation."""
    gap_seconds: float = 0.0
    """GPU time between the kernels of one forward half-layer, whatever their size, seconds."""
    blocking: bool = False
    """Every launch waits for its kernel (CUDA_LAUNCH_BLOCKING=1): the host's time adds to the GPU's."""
    graphed: Callable[[Column, Column], Column] | None = None
    """`graphed(pp, ep)`: where forward and backward pass are one CUDA graph, whose kernels follow each other
    without the host; None for nowhere."""
    micro_batch_overhead: float = 0.0
    """Host work per micro-batch and virtual stage, seconds."""
    step_overhead: float = 0.0
    """Time per step outside forward, backward and optimizer (data, logging, gradient norm), seconds."""


@dataclass(frozen=True, kw_only=True)
class PipelineTraits:
    """How a pipeline's ranks order their passes."""

    few_microbatches: bool = False
    """Interleaved pipelines run fewer micro-batches than they have ranks."""


@dataclass(frozen=True, kw_only=True)
class Traits:
    """How a framework spends memory and time. No two groups have a field of the same name."""

    memory: MemoryTraits
    tensor: TensorTraits = field(default_factory=TensorTraits)
    wire: WireTraits
    overlap: OverlapTraits = field(default_factory=OverlapTraits)
    kernels: KernelTraits
    host: HostTraits = field(default_factory=HostTraits)
    pipeline: PipelineTraits = field(default_factory=PipelineTraits)

    def by_name(self) -> dict[str, Any]:
        """Every trait under the name of its field, whichever group has it."""
        return {name: value for group in vars(self).values() for name, value in vars(group).items()}

    def replaced(self, **values: Any) -> Traits:
        """These traits with other values of some groups' fields, each by its own name, whichever group has
        it. Raises TypeError for a name that no group has."""
        groups = {}
        for group in fields(self):
            old = getattr(self, group.name)
            named = {
                each.name: values.pop(each.name) for each in fields(old) if each.name in values
            }
            groups[group.name] = replace(old, **named)
        if values:
            raise TypeError(f"no trait is called {', '.join(values)}")
        return Traits(**groups)
