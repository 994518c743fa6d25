"""Flags of `parc init`, and answers where they are missing -> the first job."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from parc.backends import BACKENDS
from parc.dsl.diagnostics import Diagnostic, JobError, did_you_mean
from parc.reading.huggingface.codes import NO_CONFIG

from .. import codes
from .detected import detected_gpus
from .first_job import FirstJob
from .gpus import ChosenGpus, asked_gpus
from .models import ChosenModel, hugging_face_choice, std_choice
from .questions import Terminal
from .write import first_job


def asked_job(arguments: Namespace) -> tuple[FirstJob, str]:
    """The job with its text. Raises `JobError`."""
    terminal = Terminal.present()
    model = _model(arguments, terminal)
    return first_job(model, _gpus(arguments, terminal), arguments.target)


def _gpus(arguments: Namespace, terminal: Terminal | None) -> ChosenGpus | None:
    if arguments.detect:
        return detected_gpus()
    named = arguments.gpus
    if named is None and terminal is not None:
        named = terminal.ask("GPUs, such as 64xH100 (as many as the model needs)")
    return asked_gpus(named) if named else None


def _model(arguments: Namespace, terminal: Terminal | None) -> ChosenModel:
    if arguments.hf:
        return hugging_face_choice(arguments.hf)
    if arguments.model:
        return std_choice(arguments.model)
    if terminal is None:
        message = "which model the job trains is not said"
        help = "--hf with a config.json or its folder, or --model with a name of `parc std`"
        raise JobError([Diagnostic(NO_CONFIG, message, help=help)])
    answer = terminal.ask("Model: a folder with a config.json, or a name of `parc std`")
    return hugging_face_choice(answer) if terminal.is_path(answer) else std_choice(answer)


def check_targets(names: Sequence[str] | None) -> None:
    """Raises `JobError` for a target that parc does not know."""
    unknown = [name for name in names or () if name not in BACKENDS]
    if unknown:
        message = f"no target is called `{unknown[0]}`"
        help = did_you_mean(unknown[0], BACKENDS) or f"there are {', '.join(BACKENDS)}"
        raise JobError([Diagnostic(codes.NO_TARGET, message, help=help)])
