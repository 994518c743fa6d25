"""The model that a trainer's arguments name -> its settings, and where these are from: a config.json of the
repository, the standard library, or Hugging Face's cache on this machine."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from ...backends.huggingface.option_rows import BASE
from ...dsl.diagnostics import JobError
from ...dsl.inputs.files import text_of as file_text
from ...dsl.model_names import library_model, local
from ...reading.facts import Setting, text_of
from ...reading.huggingface.config_settings import CONFIG, read_model
from ...reading.huggingface.hub import cached_folder
from .launched_job import LaunchedJob
from .trainer import trainer_argument


@dataclass(frozen=True)
class NamedModel:
    """`entry` is a name of the standard library, `source` says where the settings are from."""

    name: str
    at: Setting
    settings: Mapping[str, Any]
    source: str
    entry: str | None = None


def model_setting(launch: LaunchedJob) -> Setting | None:
    """The argument that names the model to start from."""
    return trainer_argument(launch, "model_name_or_path") or launch.setting("yaml", BASE)


def named_model(launch: LaunchedJob) -> NamedModel | None:
    """None where no model is named, or nobody here knows its shape."""
    at = model_setting(launch)
    name = text_of(at)
    if at is None or not name or len(name) > 300:
        return None
    beside = _beside(launch, name)
    if beside is not None:
        return NamedModel(name, at, beside[1], beside[0])
    if (entry := library_model(name)) is not None:
        return NamedModel(name, at, _of_library(entry), f"std.{entry}", entry)
    folder = None if local(name) else cached_folder(name)
    settings = _read(str(folder / CONFIG), None) if folder is not None else None
    return None if settings is None else NamedModel(name, at, settings, "Hugging Face's cache")


def _beside(launch: LaunchedJob, name: str) -> tuple[str, Mapping[str, Any]] | None:
    """The config.json of a folder of the repository, from its root or from the folders of the launch."""
    if PurePosixPath(name).is_absolute() or name.startswith("~"):
        return None
    path = str(PurePosixPath(name) / CONFIG)
    text = launch.read(path) or launch.beside(path)
    settings = _read(path, text) if text is not None else None
    return None if settings is None else (path, settings)


def _read(path: str, text: str | None) -> Mapping[str, Any] | None:
    try:
        return read_model(path, file_text(path) if text is None else text).settings
    except (JobError, OSError, ValueError):
        return None


@functools.cache
def _of_library(entry: str) -> Mapping[str, Any]:
    from ...dsl.standard import std_model  # loads the language's parser

    return std_model(entry).model_dump(exclude_defaults=True, exclude={"name"})
