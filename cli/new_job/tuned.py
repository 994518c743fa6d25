"""`--tune` and the name of a model -> what a first job fine-tunes, and the settings that differ by that."""

from __future__ import annotations

from dataclasses import dataclass

from parc.dsl.diagnostics import Diagnostic, JobError
from parc.dsl.library import named_entry
from parc.dsl.model_names import instructed, local, quantised
from parc.dsl.tuning import LEARNING_RATES, Tune

from .. import codes
from .models import ChosenModel

#: Tokens of a sample (LLaMA-Factory, examples/train_full/llama3_full_sft.yaml: cutoff_len); sequences of a
#: batch and passes over the data (Taori et al. 2023, github.com/tatsu-lab/stanford_alpaca: table of
#: hyperparameters).
SEQ_LEN, SEQUENCES, EPOCHS = 2048, 128, 3
#: Steps where the data is not counted: three passes over 51,200 samples.
STEPS = 1200


@dataclass(frozen=True)
class Tuned:
    """A fine-tuning: which of the weights of a checkpoint train."""

    tune: Tune
    weights: str

    @property
    def rate(self) -> str:
        return f"{LEARNING_RATES[self.tune]:.0e}".replace("e-0", "e-")

    @property
    def remark(self) -> str:
        """Trained weights, in words."""
        return {
            "full": "all weights",
            "lora": "adapters beside frozen 16-bit weights",
            "qlora": "adapters beside frozen 4-bit weights",
        }[self.tune]


def tuned(asked: Tune | None, model: ChosenModel, named: str) -> Tuned | None:
    """The fine-tuning that is asked for, or that the name of a tuned model means; None for a job that begins
    with random weights. Raises `JobError` where no checkpoint is known."""
    if asked is None and not instructed(named):
        return None
    weights = model.folder or _checkpoint(named, model)
    if weights is None:
        if asked is None:
            return None
        message = f"`--tune {asked}` starts from a checkpoint, and `{named}` names none"
        help = "say the model as its hub does, such as `--model Qwen/Qwen3-8B`, or name its folder"
        raise JobError([Diagnostic(codes.NO_WEIGHTS, message, help=help)])
    return Tuned(asked or "full", weights)


def _checkpoint(named: str, model: ChosenModel) -> str | None:
    """The name of a hub or the path of a model; of weights in few bits, and of the library's own names, that
    of the base model in 16 bits."""
    if ("/" in named or local(named)) and not quantised(named):
        return named
    short = (model.base or "").removeprefix("std.")
    entry = named_entry("model", short) if short else None
    return next((alias for alias in entry.aliases if "/" in alias), None) if entry else None
