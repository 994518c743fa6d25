"""A job of the Trainer or of accelerate -> what its FSDP is told, wherever it stands."""

from __future__ import annotations

import json
from dataclasses import dataclass

from ...reading.facts import Setting, text_of
from .launched_job import LaunchedJob
from .trainer import is_on, trainer_argument

_KEY = "activation_checkpointing"


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
    kind = launch.setting("yaml", "distributed_type")
    if kind is not None and text_of(kind) == "FSDP":
        own = launch.setting("yaml", f"fsdp_config.fsdp_{_KEY}")
        second = text_of(launch.setting("yaml", "fsdp_config.fsdp_version")) == "2"
        return Fsdp(kind, own if is_on(own) else None, second)
    asked = trainer_argument(launch, "fsdp")
    if asked is None or "shard" not in (text_of(asked) or ""):
        return None
    named = launch.option("--fsdp-config")
    if named is None:
        own = launch.setting("yaml", f"fsdp_config.{_KEY}")
        return Fsdp(asked, own if is_on(own) else None)
    held = _file(launch, named)
    recomputes = held is not None and bool(held.get(_KEY) or held.get(f"fsdp_{_KEY}"))
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
