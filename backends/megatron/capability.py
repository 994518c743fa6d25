"""The generation of a GPU as PyTorch reports it, which Megatron-LM asks for."""

from __future__ import annotations

import re


def compute_capability(arch: str) -> int:
    """90 for `sm90`, 100 for `sm100`; AMD's gfx942 counts as 94, which is how PyTorch reports it."""
    match = re.fullmatch(r"(?:sm|gfx)_?(\d+)[a-z]*", arch)
    number = int(match[1]) if match else 0
    return number // 10 if arch.startswith("gfx") else number
