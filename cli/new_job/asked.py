"""Flags of `parc init`, and answers where they are missing -> the first job."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from parc.backends import TARGETS
from parc.dsl.diagnostics import Diagnostic, JobError, did_you_mean
from parc.reading.huggingface.codes import NO_CONFIG

from .. import codes
from .detected import detected_gpus
from .first_job import FirstJob
from .gpus import ChosenGpus, asked_gpus
from .models import ChosenModel
from .named_model import model_of_answer, model_of_name, model_of_path
from .questions import Terminal
from .training_data import training_data
from .tuned import tuned
from .write import first_job


def asked_job(arguments: Namespace) -> tuple[FirstJob, str]:
    """The job with its text. Raises `JobError`."""
    terminal = Terminal.present()
    model = _model(arguments, terminal)
    named = arguments.hf or arguments.model or arguments.named or model.name
    data = training_data(arguments.data) if arguments.data else None
    what = tuned(arguments.tune, model, named)
    gpus = _gpus(arguments, terminal)
    return first_job(model, gpus, arguments.target, arguments.launch, what, data)


def _gpus(arguments: Namespace, terminal: Terminal | None) -> ChosenGpus | None:
    if arguments.detect:
        return detected_gpus()
    named: str | None = arguments.gpus
    if named is None:
        question = "GPUs, for example 64xH100 (return: as many as the model needs)"
        return terminal.answer(question, _gpus_or_none) if terminal else None
    if named.strip().isdecimal() and int(named) and terminal is not None:
        question = f"Type of the {named.strip()} GPUs, for example H100"
        return terminal.answer(question, lambda kind: asked_gpus(f"{named}x{kind}"))
    return _gpus_or_none(named)


def _gpus_or_none(named: str) -> ChosenGpus | None:
    return asked_gpus(named) if named else None


def _model(arguments: Namespace, terminal: Terminal | None) -> ChosenModel:
    if arguments.hf:
        return model_of_path(arguments.hf)
    if arguments.model or arguments.named:
        return model_of_name(arguments.model or arguments.named)
    if terminal is None:
        message = "no model is named"
        help = "--model with a name, for example Qwen/Qwen3-8B, or --hf with a config.json or its folder"
        raise JobError([Diagnostic(NO_CONFIG, message, help=help)])
    question = "Model, for example Qwen/Qwen3-8B, or a folder with a config.json"
    return terminal.answer(question, model_of_answer)


def check_targets(names: Sequence[str] | None) -> None:
    """Raises `JobError` for a target that parc does not know."""
    unknown = [name for name in names or () if name not in TARGETS]
    if unknown:
        message = f"no target is called `{unknown[0]}`"
        help = did_you_mean(unknown[0], TARGETS) or f"there are {', '.join(TARGETS)}"
        raise JobError([Diagnostic(codes.NO_TARGET, message, help=help)])
