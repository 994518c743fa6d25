"""What a framework can run, as data that its backend declares and the compiler reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel

from ..dsl.diagnostics import Diagnostic
from ..dsl.job import Job, Model

#: Integer columns, one per decision variable; scalars and arrays both work.
Columns = Mapping[str, Any]

#: A rank's parameters in one collective, from the job, the ranks and the ways in which tp or experts divide.
Bucket = Callable[[Job, Any, Any], Any]

#: Complaint code -> its short name, and what is wrong.
Codes = Mapping[str, tuple[str, str]]


@dataclass(frozen=True)
class Predicate:
    """One rule that a framework enforces: the layouts for which `holds` is false do not start.

    `title` says in general what is wrong with them, `message(job, **values)` with the numbers of one layout.
    `holds(job, **columns)` takes the variables of `of` by name, as equally long integer arrays, and returns
    a boolean array. `source` names the framework's file or message.
    `stricter` says why parc refuses what the framework's own start does not, where it does not.
    """

    code: str
    name: str
    title: str
    of: tuple[str, ...]
    holds: Callable[..., Any]
    message: Callable[..., str]
    source: str
    stricter: str = ""


@dataclass(frozen=True)
class Refusal:
    """One thing that a job may ask for and a framework lacks, whatever the layout.

    `title` says in general what is lacking, `asked(job)` what this job asks for, or None.
    `path` is the setting to point at.
    """

    code: str
    name: str
    title: str
    asked: Callable[[Job], str | None]
    path: tuple[str, ...]
    help: str


@dataclass(frozen=True)
class StateBytes:
    """Bytes per parameter of one rank, each kept whole or divided by the shard group.

    `gathered` is a second, whole copy in compute precision that stays for the step (FSDP2 without reshard).
    `gradients_stay` where they are buffers that live as long as the run; else the backward pass allocates
    them and the update frees them. `step` comes and goes with the update, divided as the optimizer is, and
    `step_whole` undivided.
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


@dataclass(frozen=True)
class Traits:
    """How a framework spends memory and time, where the frameworks differ.
    Every number has its source in the backend's file."""

    state: Callable[[Job, int], StateBytes]
    """`state(job, zero)`."""
    gathers: Callable[[int], int]
    """Parameter all-gathers per micro-batch at a ZeRO stage (0, 1 or 2)."""
    reduces_each: Callable[[int], bool]
    """Gradients are reduced after every micro-batch, not once per step."""
    selective: Literal["core_attention", "per_op", "feed_forward"]
    """What `recompute = selective` means here (`memory.py`)."""
    context: Literal["ring", "all_gather", "ulysses"]
    """How context parallelism exchanges keys and values."""
    logit_bytes: float
    """Bytes held per logit at the loss: copies in their dtypes, with gradient."""
    local_logit_bytes: float | None = field(default=None, kw_only=True)
    """The same where tp divides the vocabulary, if it differs."""
    live_parameters: float | None = field(default=None, kw_only=True)
    """Gathered parameters at once where the framework gathers by module; None where by layer."""
    layer_gradient_bytes: float
    """Bytes per parameter of a layer's whole gradient before it is reduced, where weights are gathered."""
    weight_gradient_bytes: float = field(default=0.0, kw_only=True)
    """Bytes per parameter of one weight's gradient that is computed beside the sum it goes into."""
    reduce_bytes: float
    """Bytes per gradient element on the wire."""
    loss_bytes: float
    """Bytes that the loss moves per logit, forward and backward."""
    all_reduces: Callable[[int], bool] = field(default=lambda zero: False)
    """Whether gradients are reduced whole on every rank at a ZeRO stage that divides them or their update."""
    overlaps_reduce: bool = True
    """Gradient reduction runs beside the backward pass."""
    overlaps_gather: bool = True
    """Parameter gathering runs beside the computation."""
    gather_copy_bytes: float = 0.0
    """Bytes that the GPU moves per parameter to lay out what one gather brought, beside the gather itself."""
    reduce_copy_bytes: float = 0.0
    """The same for one gradient reduction after a micro-batch."""
    sum_bytes: Callable[[Job, int], float] | None = None
    """`sum_bytes(job, zero)`: bytes that the GPU moves per parameter to add a micro-batch's gradient to the
    step's sum; None where products of weight gradients add (Megatron-LM since 2022)."""
    overlaps_each: bool = True
    """So do gradient reductions after every micro-batch."""
    overlaps_tensor: bool = False
    """Tensor-parallel collectives travel in pieces beside the products that need or make them."""
    overlaps_tensor_gradients: bool = False
    """Those of the backward pass around a half-layer's first products run beside their gradients."""
    overlaps_experts: bool = False
    """Dispatch and combine of one micro-batch run beside the work of another."""
    dispatch: Literal["copies", "tokens"] = "copies"
    """What dispatch and combine send: a token once for each of its experts, or once to each rank, and once to
    each domain, that has any of them."""
    fused_experts: bool = False
    """Grouped products apply activation, bias and casts to fp8 themselves."""
    overlaps_regather: bool = True
    """So does the step's gathering of updated weights."""
    bucket: Bucket = field(default=lambda job, ranks, ways: 40e6)
    """`bucket(job, ranks, ways)`: a rank's parameters in one collective of gradients or weights among
    `ranks`, where tp or experts divide them by `ways`."""
    gather_bucket: Bucket | None = None
    """The same of a step's gathering of updated weights, where it differs."""
    sums_on_host: Callable[[int], bool] = field(default=lambda zero: False)
    """Whether an offloaded optimizer has the sum of a step's gradients in host memory at a ZeRO stage."""
    gather_quarters: int = 4
    """Quarters of a micro-batch's work that gathers run beside."""
    wide_ports: int | None = None
    """Ports of a node, of one for each GPU, that the collectives of ZeRO 3 reach; all unless given."""
    block_norms: Callable[[Model], int] = field(default=lambda model: 0)
    """Parameters of norms that each block has beside those of the model."""
    vocab_multiple: int = 1
    """The vocabulary is padded to a multiple of this times tp."""
    keeps_outputs: bool = False
    """A pipeline keeps a stage's output until its gradient arrives."""
    receive_buffers: int = 0
    """Outputs and gradients of a stage that a rank of a pipeline has room for beside those in flight."""
    output_logit_bytes: Callable[[Any], Any] = field(default=lambda pp: 0.0 * pp)
    """`output_logit_bytes(pp)`: bytes per logit of the last stage's output, where a pipeline keeps those of
    two micro-batches until it needs their buffers again."""
    keeps_gathered: bool = False
    """What tp gathers along the sequence for a product is kept for its backward pass, not gathered again."""
    saves_fp8: bool = False
    """In fp8, linear layers keep their inputs as they multiply them, in 8 bits."""
    checkpoints: Literal["whole", "divided", "host"] = "whole"
    """Inputs of recomputed layers: as they are, divided over tp, or in host memory."""
    sequence_parallel: bool = True
    """Tensor parallelism divides norms, dropout and residuals too, along the sequence."""
    whole_embedding: bool = False
    """Every rank of tensor parallelism holds the whole token table."""
    whole_boundary: bool = False
    """Without sequence parallelism every rank of tp sends all activations to the next stage, not a share."""
    gathers_logits: bool = False
    """Every rank of tensor parallelism holds all logits."""
    fused: bool = True
    """Norm, activation and rope kernels are fused."""
    compiles: bool = False
    """`train.compile` fuses them."""
    buffers: Callable[[Job], int] = field(default=lambda job: 0)
    """Fixed communication buffers in bytes."""
    host_seconds: float = 0.0
    """Host work to launch one forward half-layer (attention or feed-forward), seconds."""
    expert_host_seconds: float = 0.0
    """Host work to launch the experts of one forward layer, their router and dispatch included, seconds."""
    gap_seconds: float = 0.0
    """GPU time between the kernels of one forward half-layer, however large they are, seconds."""
    blocking: bool = False
    """Every launch waits for its kernel (CUDA_LAUNCH_BLOCKING=1): the host's time adds to the GPU's."""
    micro_batch_overhead: float = 0.0
    """Seconds of host work per micro-batch and virtual stage."""
    step_overhead: float = 0.0
    """Seconds per step outside forward, backward and optimizer: data, logging, gradient norm."""


@dataclass(frozen=True)
class Target:
    """A framework: the values each variable may take, the rules between them, what it costs.

    `domains(job)` gives candidate values per variable; a variable it leaves out keeps its neutral value
    (`NEUTRAL`). `options` is the pydantic class behind `target NAME { ... }`, and `settings(job)` complains
    about what its types cannot tell. `codes` names the complaints of `settings` and of the emitter.
    """

    name: str
    options: type[BaseModel]
    domains: Callable[[Job], Mapping[str, Sequence[int]]]
    predicates: tuple[Predicate, ...]
    refusals: tuple[Refusal, ...]
    traits: Traits
    settings: Callable[[Job], Iterable[Diagnostic]] = field(default=lambda job: ())
    codes: Codes = field(default_factory=dict)

    def refuses(self, job: Job) -> list[Diagnostic]:
        """What no layout can repair, each with the place in the job that asks for it."""
        lacking = [
            Diagnostic(refusal.code, message, job.span(*refusal.path), help=refusal.help)
            for refusal in self.refusals
            if (message := refusal.asked(job)) is not None
        ]
        return [*lacking, *self.settings(job)]


#: The value of a variable that a target does not decide. dp, microbatches,
#: gpus and nodes follow from the others.
NEUTRAL = {
    "tp": 1, "pp": 1, "vpp": 1, "cp": 1, "ep": 1, "etp": 1, "dp_replicate": 1, "dp_shard": 1, "zero": 0,
    "micro_batch": 1, "recompute": 0, "recompute_layers": 0, "offload": 0, "hpz": 1,
}  # fmt: skip


def divisors(number: int, limit: int | None = None) -> tuple[int, ...]:
    """All divisors in rising order, up to `limit`."""
    small = [k for k in range(1, int(number**0.5) + 1) if number % k == 0]
    both = sorted({*small, *(number // k for k in small)})
    return tuple(k for k in both if limit is None or k <= limit)


def holds(predicate: Predicate, job: Job, columns: Columns) -> Any:
    """Whether a predicate holds, for one layout or for arrays of them."""
    return predicate.holds(job, **{name: np.asarray(columns[name]) for name in predicate.of})
