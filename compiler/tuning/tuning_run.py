"""A fine-tuning run as its memory and time are priced: model, what is tuned, batch, layout, framework."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ...dsl.model import Model
from ...dsl.tuning import Adapters, Tune
from .ledger import Ledger, Quantized, ledger

#: Formats of a trained weight's state. `half`: weight, gradient and moments in 16 bits. `fp32`: all of them
#: in fp32, with 16-bit computation beside them, as FSDP and autocast have it. `main_copy`: 16-bit weight and
#: gradient, with an fp32 copy and moments, as DeepSpeed has it. `wide_gradients`: as before, with an fp32
#: gradient, as Megatron-LM has it.
States = Literal["half", "fp32", "main_copy", "wide_gradients"]
#: How weights, gradients and optimizer state are divided: not at all, DeepSpeed's ZeRO, or FSDP.
Sharding = Literal["none", "zero1", "zero2", "zero3", "fsdp"]

#: What stays in host memory.
Offload = Literal["none", "optimizer", "params", "all"]


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Degrees of the parallel layout; `sharded` ranks share what `sharding` divides."""

    sharding: Sharding = "none"
    sharded: int = 1
    tp: int = 1
    pp: int = 1
    cp: int = 1
    ep: int = 1
    offload: Offload = "none"
    #: The layers lie on the GPUs one after another, in one process (`device_map`).
    layers_over: int = 1
    #: Copies of the whole that only add their gradients (DDP).
    replicas: int = 1

    @property
    def communicates(self) -> bool:
        ways = self.sharded * self.tp * self.pp * self.cp * self.ep * self.replicas
        return ways > 1

    @property
    def divides_weights(self) -> bool:
        return self.sharding in ("zero3", "fsdp") and self.sharded > 1


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run of one model on one kind of GPU."""

    model: Model
    tune: Tune
    adapters: Adapters = field(default_factory=Adapters)
    quantized: Quantized = "none"
    quantizes_experts: bool = False
    embeddings: bool = False
    states: States = "half"
    #: Bytes of an element of frozen weights as loaded, and of both moments of a trained one.
    frozen_bytes: int = 2
    moment_bytes: float = 8.0
    seq_len: int = 2048
    micro_batch: int = 1
    checkpointing: bool = True
    #: Adapters beside routed experts too.
    expert_adapters: bool = False
    #: Bytes of an element of the input of FSDP's reduce-scatter.
    reduce_bytes: float = 2.0
    #: The update is one kernel in place, not one over lists of tensors.
    fused_update: bool = False
    #: Inputs of checkpointed layers go to host memory.
    offloads_activations: bool = False
    fused_loss: bool = False
    #: The loss is computed in 16 bits.
    narrow_loss: bool = False
    #: Products of blocks run in fp8.
    fp8: bool = False
    flash: bool = True
    #: Norms, rotary embedding and activation are one kernel each (Liger, Transformer Engine).
    fused_kernels: bool = False
    #: A frozen copy of the model beside it, as DPO of all weights has it.
    reference: bool = False
    #: A sample is a pair of answers, as in DPO.
    pairs: bool = False
    #: Frozen 16-bit parameters of other parts, such as a vision encoder.
    other_parameters: float = 0.0
    layout: Layout = field(default_factory=Layout)

    @property
    def tokens(self) -> float:
        """Tokens of a micro-batch on a rank."""
        pairs = 2 if self.pairs else 1
        return pairs * self.seq_len * self.micro_batch / self.layout.cp

    @property
    def weights(self) -> Ledger:
        wide = 4 if self.states == "fp32" and self.tune == "full" else 2
        return ledger(
            self.model,
            self.tune,
            self.adapters,
            self.quantized,
            weight_bytes=wide if self.tune == "full" else self.frozen_bytes,
            quantizes_experts=self.quantizes_experts,
            embeddings=self.embeddings,
            expert_adapters=self.expert_adapters,
        )
