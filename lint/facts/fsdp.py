"""A job of the Trainer or of accelerate -> what its FSDP is told, wherever it stands."""

from __future__ import annotations

from dataclasses import dataclass

from ...backends.huggingface.option_rows import ACCELERATE, KIND, VERSIONS
from ...reading.facts import Setting, text_of
from .launched_job import LaunchedJob
from .trainer import is_on, trainer_argument

_RECOMPUTES = ACCELERATE.by_name["fsdp_config.fsdp_activation_checkpointing"].names

#: The Trainer's argument that names FSDP's file.
CONFIG = "--fsdp-config"


@dataclass(frozen=True)
class Fsdp:
    """`asked`: the setting that asks for FSDP, `recomputes`: the one by which FSDP recomputes activations,
    None where nothing does; `known` is False where a file that may say so is not read."""

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
    own, named = launch.setting("yaml", *_RECOMPUTES), launch.option(CONFIG)
    known = named is None or not launch.config.unread
    return Fsdp(asked, own if is_on(own) else None, known=known)
