"""Hugging Face's cache on this machine: the name of a model -> the folder of its newest snapshot."""

from __future__ import annotations

import os
import re
from pathlib import Path

from .config_settings import CONFIG


def cached_folder(named: str) -> Path | None:
    """The snapshot that Hugging Face's cache has of a model, `ORG/NAME` or a NAME that one ORG alone has."""
    own = _without_wildcards(named.strip().replace("/", "--"))
    pattern = f"models--{own}" if "/" in named else f"models--*--{own}"
    found = sorted(_cache().glob(f"{pattern}/snapshots/*/{CONFIG}"))
    if len({path.parents[2] for path in found}) != 1:
        return None
    main = found[0].parents[2] / "refs" / "main"
    newest = [path for path in found if _refers(main, path.parent.name)]
    return (newest or found)[0].parent


def _refers(main: Path, snapshot: str) -> bool:
    try:
        return main.read_text("utf-8").strip() == snapshot
    except (OSError, ValueError):
        return False


def _without_wildcards(name: str) -> str:
    return re.sub(r"[^\w.-]", "?", name)


def _cache() -> Path:
    """Where huggingface_hub keeps models: HF_HUB_CACHE, else `hub` in HF_HOME."""
    home = os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface"
    return Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub")
