"""A model and what is tuned of it -> the bytes of its weights: trained, frozen and quantized, by part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...dsl.job import Job
from ...dsl.model import Model
from ...dsl.tuning import Adapters, Tune
from ..model import parameters
from .matrices import Matrix, matrices

#: How frozen matrices are stored: as they are, bitsandbytes' NF4 with double quantization, its LLM.int8, or
#: four bits in groups of 128 (GPTQ, AWQ).
Quantized = Literal["none", "nf4", "int8", "int4"]
#: Elements that share a scale in NF4, and scales that share one in the second quantization
#: (bitsandbytes 0.50, nn/modules.py: Params4bit; functional.py: quantize_4bit).
BLOCK, SCALE_BLOCK = 64, 256
#: Bytes of each quantized matrix beside its blocks: maps of 16 and of 256 fp32 values and the mean of its
#: scales (functional.py: get_4bit_type, quantize_blockwise).
MAPS = 16 * 4 + 256 * 4 + 4
#: Bytes of a group of 128 four-bit values beside them: a 16-bit scale and a four-bit zero point
#: (Frantar et al. 2022, arXiv 2210.17323, 4).
GROUP, GROUP_BYTES = 128, 2.5


@dataclass(frozen=True)
class Entry:
    """Weights of one part of the model: how many, how many bytes a rank that holds all of them keeps."""

    part: str
    parameters: int
    bytes: int
    trained: bool = False
    quantized: bool = False


@dataclass(frozen=True)
class Ledger:
    """All weights of a model that is fine-tuned."""

    entries: tuple[Entry, ...]

    def _sum(self, trained: bool, quantized: bool | None = None, bytes: bool = True) -> int:
        return sum(
            entry.bytes if bytes else entry.parameters
            for entry in self.entries
            if entry.trained == trained and quantized in (None, entry.quantized)
        )

    @property
    def trained_parameters(self) -> int:
        return self._sum(True, bytes=False)

    @property
    def frozen_parameters(self) -> int:
        return self._sum(False, bytes=False)

    @property
    def trained_bytes(self) -> int:
        return self._sum(True)

    @property
    def frozen_bytes(self) -> int:
        """Bytes of frozen weights that are not quantized."""
        return self._sum(False, False)

    @property
    def quantized_bytes(self) -> int:
        return self._sum(False, True)

    @property
    def quantized_parameters(self) -> int:
        return self._sum(False, True, bytes=False)


def ledger(
    model: Model,
    tune: Tune,
    adapters: Adapters,
    quantized: Quantized | None = None,
    weight_bytes: int = 2,
    adapter_bytes: int = 4,
    quantizes_experts: bool = False,
    embeddings: bool = False,
    expert_adapters: bool = False,
) -> Ledger:
    """The weights of a model that is tuned.

    `quantized` is the store of frozen matrices: NF4 for `qlora` unless given. `weight_bytes` are those of an
    element of a weight that is not quantized, `adapter_bytes` those of adapters, which peft keeps in fp32
    (peft, tuners/tuners_utils.py: cast_adapter_dtype). `quantizes_experts` holds where the framework
    quantizes routed experts too, `embeddings` where token table and head are trained, `expert_adapters`
    where routed experts have adapters as well (peft's `target_parameters`).
    """
    store: Quantized = quantized or ("nf4" if tune == "qlora" else "none")
    trains_all = tune == "full"
    entries = []
    in_matrices = 0
    for matrix in matrices(model):
        in_matrices += matrix.elements * matrix.count
        packed = store != "none" and not trains_all and _quantizable(matrix, quantizes_experts)
        size = stored_bytes(matrix.elements, store)
        if not packed:
            size = matrix.elements * _kept_bytes(model, matrix, weight_bytes)
        number = matrix.elements * matrix.count
        entries.append(Entry(matrix.part, number, size * matrix.count, trains_all, packed))
    outside = parameters.embedding(model).total + parameters.head(model).total
    outside -= parameters.norm(model, model.hidden)
    rest = parameters.total(model) - in_matrices - outside
    entries.append(Entry("embedding", outside, weight_bytes * outside, trains_all or embeddings))
    entries.append(Entry("norms", rest, weight_bytes * rest, trains_all))
    if not trains_all:
        count = adapter_parameters(model, adapters)
        count += expert_adapter_parameters(model, adapters.rank) if expert_adapters else 0
        entries.append(Entry("adapters", count, adapter_bytes * count, True))
    return Ledger(tuple(entries))


def _kept_bytes(model: Model, matrix: Matrix, usual: int) -> int:
    """Bytes per element of a matrix that is not quantized: DeepSeek's routers are always fp32 (transformers,
    models/deepseek_v3/modeling_deepseek_v3.py: DeepseekV3TopkRouter)."""
    return 4 if model.mla and matrix.part == "router" else usual


def _quantizable(matrix: Matrix, experts: bool) -> bool:
    return matrix.linear or (experts and matrix.part == "experts")


def stored_bytes(elements: int, store: Quantized) -> int:
    """Bytes of one quantized matrix with its scales."""
    if store == "nf4":
        scales = -(-elements // BLOCK)
        return -(-elements // 2) + scales + 4 * -(-scales // SCALE_BLOCK) + MAPS
    if store == "int4":
        return int(elements / 2 + GROUP_BYTES * elements / GROUP)
    return elements


def trained_share(job: Job) -> float:
    """Parameters that a job trains, over those of its model."""
    adapters = job.train.adapters
    if adapters is None:
        return 1.0
    return adapter_parameters(job.model, adapters) / parameters.total(
        job.model, seq_len=job.train.seq_len
    )


def frozen_bytes(job: Job) -> float:
    """Bytes per parameter of the model that a job keeps of frozen weights in 16 or 4 bits; 0 where it trains
    them."""
    adapters, tune = job.train.adapters, job.train.tune
    if adapters is None or tune is None:
        return 0.0
    if tune == "lora":
        return 2.0
    sheet = ledger(job.model, tune, adapters)
    whole = parameters.total(job.model, seq_len=job.train.seq_len)
    return (sheet.frozen_bytes + sheet.quantized_bytes) / whole


def scale_bytes(job: Job) -> int:
    """Bytes of the scales and maps of 4-bit matrices: FSDP2 divides what they scale alone, as they are no
    parameters (bitsandbytes 0.50, functional.py: QuantState)."""
    if job.train.tune != "qlora":
        return 0
    return sum(
        (stored_bytes(matrix.elements, "nf4") - -(-matrix.elements // 2)) * matrix.count
        for matrix in matrices(job.model)
        if matrix.linear
    )


def dequantized_bytes(job: Job) -> int:
    """Bytes of the 16-bit copy of the largest 4-bit matrix: one at a time is multiplied (bitsandbytes,
    autograd/_functions.py: MatMul4Bit)."""
    if job.train.tune != "qlora":
        return 0
    return max(2 * matrix.elements for matrix in matrices(job.model) if matrix.linear)


def targets(model: Model, adapters: Adapters) -> tuple[Matrix, ...]:
    """The matrices that have an adapter."""
    parts = ("attention",) if adapters.targets == "attention" else ("attention", "feed_forward")
    return tuple(matrix for matrix in matrices(model) if matrix.part in parts)


def adapter_parameters(model: Model, adapters: Adapters) -> int:
    """Parameters of all adapters: rank x inputs and outputs x rank beside each target."""
    return sum(
        adapters.rank * (matrix.outputs + matrix.inputs) * matrix.count
        for matrix in targets(model, adapters)
    )


def expert_adapter_parameters(model: Model, rank: int) -> int:
    """Parameters of adapters beside routed experts: those of a layer lie in two tensors, each expert with a
    rank of its own (peft, tuners/lora/layer.py: ParamWrapper)."""
    if not model.moe:
        return 0
    rows = 2 if model.gated else 1
    inputs = model.hidden + rows * model.expert_width
    outputs = model.expert_width + model.hidden
    return rank * model.experts * model.moe_layers * (inputs + outputs)
