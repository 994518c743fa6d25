"""The facts of what runs beneath a target, in every framework's own words: how a job says each, and what the
emitted files then have. docs/backends.md shows the table; a test holds each target to what it declares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..reading.facts import Value

#: What a framework can differ in, by the column of measured runs that states it (benchmarks/data/README.md).
FACTS: Mapping[str, str] = {
    "attention_kernel": "kernel of attention",
    "norm_kernel": "norms in one kernel or in PyTorch's",
    "loss_kernel": "loss in one kernel or in PyTorch's",
    "tp_overlap": "tensor-parallel traffic beside products",
    "dp_overlap": "data-parallel traffic beside computation",
    "grad_dtype": "dtype in which gradients are reduced",
    "fp8_recipe": "how fp8 products are scaled",
    "fp8_params": "weights kept as quantized for products",
    "cuda_graph": "CUDA graphs",
}


@dataclass(frozen=True)
class Said:
    """A fact that a job can say: `setting`, of the target's block or as `train.NAME`, with a value other than
    its default; `written` is a word that the emitted files have with exactly one of the two. `priced` is
    false, with the reason in `why`, where no measurement tells a price."""

    setting: str
    value: Value
    written: str
    job: Mapping[str, Value] | None = None
    """Settings of `train` that the value needs, such as precision."""
    block: Mapping[str, Value] | None = None
    """Other settings of the target's block that it needs, such as the release."""
    where: str = ""
    """The degree without which nothing is written, such as tp: files of one rank do not say the fact."""
    priced: bool = True
    why: str = ""
    notable: bool = True
    """False where nothing that is known of differs, or where what the target takes depends on the job: files
    are compared with a job that says it alone."""

    @property
    def of_train(self) -> bool:
        return self.setting.startswith("train.")

    @property
    def name(self) -> str:
        """The setting's name in its block."""
        return self.setting.removeprefix("train.")


@dataclass(frozen=True)
class Fixed:
    """A fact that the framework's release decides: what it is, and where its code says so."""

    always: str
    source: str


Stack = Mapping[str, Said | Fixed]
