"""The parameters of a model beside those of its safetensors files: agreement, or a warning."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from parc.compiler.model.parameters import mtp
from parc.dsl.diagnostics import Diagnostic
from parc.reading.huggingface.codes import OTHER_COUNT
from parc.reading.huggingface.weights import stored_weights

from .models import ChosenModel

#: Share of the parameters by which small parts may differ that the language has not, such as norms.
TOLERANCE = 0.005


@dataclass(frozen=True)
class Counted:
    """The comment behind the number of parameters, and the warning where they differ."""

    remark: str = ""
    warning: Diagnostic | None = None
    stored: int | None = None


def counted(model: ChosenModel) -> Counted:
    """Compares a model of Hugging Face with the weights beside its config.json."""
    described = model.described
    if described is None or model.folder is None:
        return Counted()
    found = stored_weights(Path(model.folder), described.dtype)
    if found is None:
        return Counted()
    if described.quantized:
        return Counted(f"; the bytes of {found.file} are of quantized weights, and not compared")
    if not described.language_alone:
        return Counted(f"; {found.file} holds other parts as well, and is not compared")
    again = found.copies(model.model.tied) * model.model.vocab * model.model.hidden
    return _compared(model, found.file, found.count - again)


def _compared(model: ChosenModel, file: str, stored: int) -> Counted:
    """Files may hold the layers of multi-token prediction."""
    own = model.parameters(model.positions or 1)
    nearest = min((own, own + mtp(model.model).total), key=lambda count: abs(count - stored))
    share = stored / nearest - 1
    if nearest == stored:
        return Counted(f", as many as {file} holds", None, stored)
    remark = f"; {file} holds {stored:,} ({share:+.2%})"
    if abs(share) <= TOLERANCE:
        return Counted(remark, None, stored)
    message = f"the model has {nearest:,} parameters, `{file}` holds {stored:,}: {share:+.1%}"
    help = "config.json may be of another model, or have blocks that the job cannot say"
    return Counted(remark, Diagnostic(OTHER_COUNT, message, None, "warning", (), help), stored)
