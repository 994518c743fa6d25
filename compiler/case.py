"""A job on a target -> `Case`: the rates, sizes and counts that many cost terms need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ..dsl.arrays import np
from ..dsl.expression import names
from ..dsl.hardware import Cluster, Gpu
from ..dsl.job import Constraint, Job, Train
from ..dsl.model import Model
from .algebra import Column, Integers, Mask, by_stage
from .familiarity import Familiarity, Known, familiarity
from .headroom import DEFAULT_RISK, at_most, headroom
from .model import flops, parameters
from .plan import V_SHAPED
from .target import Target
from .time import attention_kernels
from .traits import StateBytes, Traits

if TYPE_CHECKING:
    from .pipeline.placements import Placements
    from .pipeline.rank_table import RankTable


LIKELY_TO_FIT = at_most("require", DEFAULT_RISK)

#: Bytes per element of operands narrower than 16 bits; nvfp4 has a scale of 8 bits for each 16 values
#: (Transformer Engine, common/recipe/__init__.py: NVFP4BlockScaling).
OPERAND_BYTES = {"fp8": 1, "mxfp8": 1, "nvfp4": 0.5 + 1 / 16}


@dataclass(frozen=True)
class Case:
    """A job on a target. Rates are per GPU."""

    job: Job
    target: Target

    @property
    def model(self) -> Model:
        return self.job.model

    @property
    def cluster(self) -> Cluster:
        return self.job.cluster

    @property
    def gpu(self) -> Gpu:
        return self.job.cluster.gpu

    @property
    def alone(self) -> bool:
        """Whether the job has one GPU."""
        return self.cluster.gpus_per_node == 1 and max(self.cluster.nodes) == 1

    @property
    def train(self) -> Train:
        return self.job.train

    @cached_property
    def traits(self) -> Traits:
        """The target's, with what the job's own settings of kernels and traffic change."""
        return self.target.traits.replaced(**self.target.stack(self.job))

    @cached_property
    def exchanges(self) -> dict[tuple[object, ...], Integers]:
        """The exchanges of context parallelism that `time/context_exchange.py` has chosen so far."""
        return {}

    @property
    def familiarity(self) -> Familiarity:
        """How well runs of the target on the job's GPU are known."""
        return familiarity(self.known(self.target.measured), self.gpu)

    def known(self, stack: bool) -> Known:
        """Measured runs like the job, where they tell of its `stack` or not."""
        experts = self.model.moe
        return Known(stack, self.target.ran(self.gpu, experts), experts)

    @cached_property
    def conditions(self) -> tuple[Constraint, ...]:
        """The goal's, and where no hard one speaks of memory, one more: the run is likely to fit."""
        given = self.job.goal.constraints
        spoken = any(
            each.kind != "prefer" and {"memory", "risk"} & names(each.expression) for each in given
        )
        return given if spoken else (*given, LIKELY_TO_FIT)

    @cached_property
    def headroom(self) -> Constraint | None:
        """The condition that decides between layouts that are about equally good, after the job's
        preferences."""
        return headroom(self)

    @property
    def hard(self) -> tuple[Constraint, ...]:
        """The conditions that every layout satisfies."""
        return tuple(each for each in self.conditions if each.kind != "prefer")

    @property
    def preferred(self) -> tuple[Constraint, ...]:
        """The conditions that decide between layouts that are about equally good."""
        return tuple(each for each in self.conditions if each.kind == "prefer")

    @cached_property
    def domains(self) -> Mapping[str, Sequence[int]]:
        """The domain of each variable that the target decides."""
        return self.target.domains(self.job)

    @cached_property
    def kept_domains(self) -> dict[object, dict[str, tuple[int, ...]]]:
        """The sorted domains of its spaces, by what else decides them; `search/space.py` keeps them."""
        return {}

    @cached_property
    def dense_block(self) -> parameters.Counts:
        """Parameters of a block with a dense feed-forward."""
        return parameters.dense_layer(self.model)

    @cached_property
    def moe_block(self) -> parameters.Counts:
        """Parameters of a block with routed experts."""
        return parameters.moe_layer(self.model)

    @cached_property
    def mtp_blocks(self) -> parameters.Counts:
        """Parameters of all multi-token-prediction layers."""
        return parameters.mtp(self.model)

    @cached_property
    def v_shaped(self) -> bool:
        """Whether each other chunk of the ranks goes from the last rank to the first, in every layout."""
        return all(order in V_SHAPED for order in self.domains.get("order", (0,)))

    @cached_property
    def placements(self) -> Placements:
        """The placements of the model's layers on pipelines."""
        from .pipeline.placements import Placements

        return Placements(self.model, self.v_shaped, self.job.peak_flops / self.half_rate)

    @cached_property
    def rank_table(self) -> RankTable:
        """The load of the ranks in these placements."""
        from .pipeline.rank_table import RankTable

        return RankTable(self.placements, len(self.roles) - 2)

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """Roles of pipeline ranks."""
        from .pipeline.rank_table import ALIKE, FIRST, INNER, LAST

        mixed = self.model.moe and self.model.dense_layers > 0
        return (FIRST, *(INNER if mixed else INNER[:ALIKE]), LAST)

    @property
    def seq_len(self) -> int:
        return self.job.train.seq_len

    @property
    def fused(self) -> bool:
        """Whether norm, activation and rope run as fused kernels."""
        return self.traits.kernels.fused or (self.traits.kernels.compiles and self.train.compile)

    @property
    def step_tokens(self) -> int:
        return self.train.global_batch * self.seq_len

    @cached_property
    def linear_rate(self) -> float:
        """FLOP/s that large matrix products reach in the job's precision."""
        pace = self.traits.kernels.fp8_pace if self.operand_bytes == 1 else 1.0
        efficiency = self.gpu.efficiency(self.train.precision)
        return self.job.peak_flops * self.gpu.capped * efficiency * pace

    @cached_property
    def half_linear_rate(self) -> float:
        """FLOP/s that large 16-bit matrix products reach: head, router and unfused attention."""
        return self.half_rate * self.gpu.capped * self.gpu.matmul_efficiency

    @cached_property
    def attention_rate(self) -> float:
        """FLOP/s that fused attention reaches with heads 128 wide, long sequences and the target's kernel."""
        pace = attention_kernels.pace(self.traits.kernels.attention_kernel, self.gpu.arch)
        return self.half_rate * self.gpu.capped * self.gpu.attention_efficiency * pace

    @cached_property
    def gradient_bytes(self) -> float:
        """Bytes that a weight-gradient product moves per parameter: it writes 2, or reads and writes the
        accumulated gradient where that stays on the rank (Megatron-LM's gradient accumulation fusion).
        """
        fused = self.traits.kernels.sum_bytes is None and not self.traits.wire.reduces_each(0)
        return 2.0 * self.state(0).gradients if fused else 2.0

    @property
    def operand_bytes(self) -> float:
        """Bytes per element of the operands of the layers' matrix products."""
        return OPERAND_BYTES.get(self.train.precision, 2)

    @property
    def input_bytes(self) -> float:
        """Bytes per element of the input that a linear layer saves for the backward pass."""
        return self.operand_bytes if self.traits.memory.saves_quantized else 2

    @cached_property
    def half_rate(self) -> float:
        """Peak 16-bit FLOP/s: attention, head and router, in fp8 jobs too."""
        gpu = self.gpu
        return (
            (gpu.fp16 if self.train.precision == "fp16" else gpu.bf16)
            or gpu.fp16
            or self.job.peak_flops
        )

    @cached_property
    def memory_rate(self) -> float:
        """Bytes per second that elementwise kernels reach."""
        return self.gpu.memory_bandwidth * self.gpu.memory_efficiency

    @cached_property
    def model_flops(self) -> float:
        """Model FLOP of one step; causal attention counts half, the vocabulary without padding."""
        return self._model_flops("halved")

    @cached_property
    def model_flops_full_attention(self) -> float:
        """Model FLOP of one step; causal attention counts in full."""
        return self._model_flops("full")

    def _model_flops(self, convention: flops.Convention) -> float:
        """Products with frozen weights have two passes, not three: no gradient of the weights."""
        total = flops.training(self.model, self.seq_len, convention=convention)
        if self.train.adapters is None:
            return total.total * self.step_tokens
        linear = total.total - total.attention_core
        return (2 / 3 * linear + total.attention_core) * self.step_tokens

    def sequence_parallel(self, tp: Column) -> Mask:
        """Where norms, dropout and residuals are divided over tp along the sequence."""
        tensor = self.traits.tensor
        divided = self.seq_len % np.asarray(tp) == 0
        return np.asarray(tensor.sequence_parallel & (divided | (not tensor.whole_sequences)))

    def stream_ways(self, tp: Column) -> Column:
        """Ranks that divide norms, dropout and residuals: tp under sequence parallelism, else 1."""
        return np.where(self.sequence_parallel(tp), tp, 1)

    def vocab(self, tp: Column) -> Column:
        """The vocabulary with the framework's padding."""
        return (
            parameters.padded_vocab(self.model, tp, self.traits.tensor.vocab_multiple)
            if self.traits.tensor.vocab_multiple > 1
            else (self.model.vocab)
        )

    def state(self, zero: int) -> StateBytes:
        return self.traits.memory.state(self.job, zero)

    def sums_on_host(self, zero: Column, offload: Column) -> Column:
        """Whether accumulated gradients are kept in host memory, by row."""
        able = by_stage(self.traits.memory.sums_on_host, zero)
        return np.asarray((np.asarray(offload) >= 1) & able)
