"""The name that people type for a model -> the library's entry, the config.json of Hugging Face's cache, or a
path."""

from __future__ import annotations

import os
import re
from difflib import SequenceMatcher

from parc.dsl.diagnostics import Diagnostic, JobError
from parc.dsl.library import STD, std_entries
from parc.dsl.model_names import library_model, without_tuning
from parc.dsl.unsupported import of_model
from parc.reading.huggingface.config_settings import CONFIG
from parc.reading.huggingface.hub import cached_folder

from .. import codes
from .models import ChosenModel, hugging_face_choice, std_choice

#: A name of Hugging Face's hub: whose it is, and its own.
_HUB = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")


def model_of_answer(named: str) -> ChosenModel:
    """The model of a path that is there, else of a name. Raises `JobError`."""
    return hugging_face_choice(named) if _is_path(named) else model_of_name(named)


def model_of_path(named: str) -> ChosenModel:
    """The model of a config.json or its folder; a name will do where it is one. Raises `JobError`."""
    is_name = library_model(named) or cached_folder(named) or _HUB.fullmatch(named)
    return model_of_name(named) if is_name and not _is_path(named) else hugging_face_choice(named)


def model_of_name(named: str) -> ChosenModel:
    """The model of the library that a name means, else Hugging Face's cached one, else that of a path.

    `Qwen/Qwen3-8B`, `qwen3-8b` and `Qwen3-8B-Instruct` are std.qwen3_8b. Raises `JobError`.
    """
    if (known := library_model(named)) is not None:
        return std_choice(known)
    if (cached := cached_folder(named)) is not None:
        return hugging_face_choice(str(cached), named.rpartition("/")[2])
    if _is_path(named):
        return hugging_face_choice(named)
    raise JobError([_unknown(named)])


def _is_path(named: str) -> bool:
    return os.path.exists(named) or named.endswith(".json") or named[:1] in (".", "~", os.sep)


def _unknown(named: str) -> Diagnostic:
    if (asked := of_model(named)) is not None:
        return Diagnostic(asked.code, asked.of_model(named), help=asked.instead)
    if _HUB.fullmatch(named):
        folder = named.rpartition("/")[2]
        message = f"`{named}` is neither in the standard library nor in Hugging Face's cache"
        fetch = f"hf download {named} {CONFIG} --local-dir {folder}"
        help = f"fetch its {CONFIG}: `{fetch} && parc init --hf {folder}`"
        return Diagnostic(codes.NO_STD_ENTRY, message, help=help)
    near = [each for each in STD.near("model", without_tuning(named)) if _alike(each, named)]
    near = near or [
        each.name for each in std_entries() if each.kind == "model" and _alike(each.name, named)
    ]
    help = (
        f"`parc std --models` lists the library; another one is fetched: `hf download ORG/{named} {CONFIG} "
        f"--local-dir {named} && parc init --hf {named}`"
    )
    if near:
        help = f"did you mean {' or '.join(f'`{each}`' for each in near[:3])}?"
    return Diagnostic(codes.NO_STD_ENTRY, f"no model is called `{named}`", help=help)


def _letter_off(name: str, named: str) -> bool:
    """Whether a name is an entry's with a letter too many, too few, or wrong."""
    ours, theirs = (re.sub(r"[^a-z0-9]", "", each.lower()) for each in (name, named))
    digits = [re.sub(r"\D", "", each) for each in (ours, theirs)]
    return digits[0] == digits[1] and SequenceMatcher(None, ours, theirs).ratio() > 0.85


def _alike(name: str, named: str) -> bool:
    """Whether an entry may be meant: of the same family, and of the version and size that are said of it."""
    family, said = (re.split(r"[^a-z]", each.lower(), maxsplit=1)[0] for each in (name, named))
    if _letter_off(name, named):
        return True
    if family[:3] != said[:3] or not said:
        return False
    numbers = [re.findall(r"\d+", each) for each in (name, without_tuning(named))]
    return set(numbers[1]) <= set(numbers[0])
