"""A list given to --moe-layer-freq says for each layer whether it has experts, so it has as many entries as
layers.

Why:
Megatron-LM finds out when it builds the model, after all processes have started.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --hidden-size 4096 --num-layers 28 --num-experts 64 \\
    --moe-layer-freq "([0]*1+[1]*26)"

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --hidden-size 4096 --num-layers 28 --num-experts 64 \\
    --moe-layer-freq "([0]*1+[1]*27)"
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..finding import Complaint, Related
from ..launch import Launch, text_of

CODE = "PAR314"
NAME = "moe-layer-freq"
TITLE = "a list of expert layers of the wrong length"
SEVERITY = "error"
SOURCE = "NVIDIA/Megatron-LM@d98e8a64 megatron/core/models/gpt/gpt_layer_specs.py:653"


_TERM = re.compile(r"\[([01](?:,[01])*)\](?:\*(\d+))?")


def check(launch: Launch) -> Iterator[Complaint]:
    at, layers = launch.option("--moe-layer-freq"), launch.number("layers")
    text = (text_of(at) or "").replace(" ", "").strip("()")
    length = length_of(text)
    if launch.framework == "megatron" and at and layers and length is not None and length != layers:
        related = (Related(f"layers {layers}", launch.facts["layers"]),)
        yield Complaint(f"--moe-layer-freq lists {length} layers, not {layers}", at, related)


def length_of(text: str) -> int | None:
    """Entries of a sum of lists such as [0]*3+[1]*58; None for anything else."""
    terms = [_TERM.fullmatch(term) for term in text.split("+")]
    if not text.startswith("[") or not all(terms):
        return None
    return sum(len(term[1].split(",")) * int(term[2] or 1) for term in terms if term)
