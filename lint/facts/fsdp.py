"""A job of the Trainer or of accelerate -> what its FSDP is told, wherever it stands."""

from __future__ import annotations

import json
from dataclasses import dataclass

from ...backends.huggingface.option_rows import ACCELERATE, KIND, VERSIONS
from ...reading.facts import Setting, text_of
from .launched_job import LaunchedJob
from .trainer import is_on, trainer_argument

_RECOMPUTES = ACCELERATE.by_name["fsdp_config.fsdp_activation_checkpointing"].names


@dataclass(frozen=True)
class Fsdp:
    """`asked`: the setting that asks for FSDP, `recomputes`: the one by which FSDP recomputes activations,
    None where nothing does; `known` is False where a file that may say so is not there."""

    asked: Setting
    recomputes: Setting | None
    second: bool = False
    known: bool = True


def fsdp_of(launch: LaunchedJob) -> Fsdp | None:
    """None where FSDP is not asked for."""
    kind = launch.setting("yaml", KIND)
    if kind is not None and text_of(kind) == "FSDP":
        own = launch.setting("yaml", *_RECOMPUTES)
        second = text_of(launch.setting("yaml", *VERSIONS[1:])) == "2"
        return Fsdp(kind, own if is_on(own) else None, second)
    asked = trainer_argument(launch, "fsdp")
    if asked is None or "shard" not in (text_of(asked) or ""):
        return None
    named = launch.option("--fsdp-config")
    if named is None:
        own = launch.setting("yaml", *_RECOMPUTES)
        return Fsdp(asked, own if is_on(own) else None)
    held = _file(launch, named)
    recomputes = held is not None and any(held.get(name.rpartition(".")[2]) for name in _RECOMPUTES)
    return Fsdp(asked, named if recomputes else None, known=held is not None)


def _file(launch: LaunchedJob, named: Setting) -> dict[str, object] | None:
    """The content of `--fsdp_config`, a file or a text in braces."""
    value = text_of(named) or ""
    text = value if value.startswith("{") else launch.beside(value)
    try:
        held = json.loads(text or "")
    except (ValueError, RecursionError):
        return None
    return held if isinstance(held, dict) else None
