"""A model, GPUs and targets -> everything that a first job says, with numbers for what nobody said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from parc.compiler.model.parameters import active
from parc.dsl.hardware import Gpu
from parc.dsl.standard import std_cluster, std_gpu

from .counted import Counted
from .gpus import ChosenGpus
from .models import ChosenModel
from .targets import ChosenTargets
from .training_data import TrainingData
from .tuned import EPOCHS, SEQUENCES, STEPS, Tuned
from .tuned import SEQ_LEN as TUNED_SEQ_LEN

#: Tokens of a sequence at most: what Llama 3 was trained with before its context was made longer (arXiv
#: 2407.21783, section 3.4.1).
SEQ_LEN = 8192
#: Tokens of a batch: Llama 3's first (same section).
BATCH_TOKENS = 4 * 2**20
#: Tokens for each parameter that a token uses (Hoffmann et al. 2022, arXiv 2203.15556, table 3).
TOKENS_EACH = 20


@dataclass(frozen=True)
class FirstJob:
    """A user's choices and the settings that follow from them."""

    model: ChosenModel
    gpus: ChosenGpus
    targets: ChosenTargets
    counted: Counted = Counted()
    launch: str | None = None
    tuned: Tuned | None = None
    data: TrainingData | None = None

    @property
    def seq_len(self) -> int:
        longest = TUNED_SEQ_LEN if self.tuned else SEQ_LEN
        return min(longest, self.model.positions or longest)

    @property
    def parameters(self) -> int:
        return self.model.parameters(self.seq_len)

    @property
    def usual_per_node(self) -> int:
        return std_cluster(self.gpus.base).gpus_per_node

    @property
    def gpu(self) -> Gpu:
        named = self.gpus.gpu
        return std_gpu(named.removeprefix("std.")) if named else std_cluster(self.gpus.base).gpu

    @property
    def sequences(self) -> int:
        """The sequences of a batch, rounded up to a multiple of the GPUs."""
        count = self.gpus.count
        wanted = SEQUENCES if self.tuned else max(1, BATCH_TOKENS // self.seq_len)
        return -(-wanted // count) * count

    @property
    def batch_text(self) -> str:
        if self.tuned:
            return str(self.sequences)
        tokens = self.sequences * self.seq_len
        return f"{tokens // 2**20}Mi tokens" if tokens % 2**20 == 0 else str(self.sequences)

    @property
    def batch_remark(self) -> str:
        return f"{self.sequences:,} sequences, a multiple of the GPUs"

    @property
    def length(self) -> tuple[str, str, str]:
        """The setting of how long a run is, its value and where that is from."""
        source = "20 a parameter in use: Hoffmann et al. 2022, arXiv 2203.15556"
        if self.tuned is None:
            return "tokens", self.tokens_text, source
        counted = self.data.tokens(self.model.model.vocab) if self.data else None
        if not counted:
            remark = f"epochs * samples / {self.sequences}: {EPOCHS} * 51,200, of your data"
            return "steps", str(STEPS), remark
        return "tokens", str(EPOCHS * counted), f"{EPOCHS} epochs of {counted:,} tokens"

    @property
    def tokens_text(self) -> str:
        """Two digits of `TOKENS_EACH` for each parameter in use, in thousands of millions from there on."""
        tokens = TOKENS_EACH * active(self.model.model, seq_len=self.seq_len)
        rounded = float(f"{tokens:.1e}")
        for suffix, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6)):
            if rounded >= scale:
                return f"{rounded / scale:g}{suffix}"
        return f"{rounded:.0f}"

    def with_settings(self, settings: Mapping[str, str]) -> FirstJob:
        """The job whose model has these settings besides."""
        return replace(self, model=replace(self.model, settings=settings))

    def with_targets(self, targets: ChosenTargets) -> FirstJob:
        return replace(self, targets=targets)
