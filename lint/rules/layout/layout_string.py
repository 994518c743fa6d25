"""A layout string places every layer: E first, the decoder's layers t, prediction layers m behind them, L
last; and its stages are a multiple of pp.

Why:
Megatron-LM stops at start.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 16 --pipeline-model-parallel-size 4 \\
    --pipeline-model-parallel-layout "Et*4|t*4|t*4|t*3L"

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 16 --pipeline-model-parallel-size 4 \\
    --pipeline-model-parallel-layout "Et*4|t*4|t*4|t*4L"
"""

import re
from collections.abc import Iterator

from ....backends.megatron.option_groups import LAYOUT
from ....reading.facts import text_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR125"
TITLE = "a pipeline layout string that does not place the layers"
SEVERITY = "error"
STOPS = "megatron"
SOURCE = (
    "NVIDIA/Megatron-LM@d98e8a64 "
    "megatron/core/transformer/pipeline_parallel_layer_layout.py:88-135, arguments.py:945"
)


#: A layout longer than this is no layout of layers.
_MOST = 100_000
_GROUP = re.compile(r"\(([^()]*)\)(?:\*(\d{1,9}))?")
_ONE = re.compile(r"([EtmL|])(?:\*(\d{1,9}))?")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    at = launch.option(LAYOUT)
    text = text_of(at)
    if at is None or text is None or launch.framework != "megatron":
        return
    stages = expanded(text.replace(",", "").replace(" ", ""))
    if stages is None:
        yield Complaint(f"`{text}` is not a layout of E, t, m, L and |", at)
        return
    problem = _problem(stages, launch.number("layers"), launch.number("pp"))
    if problem:
        related = tuple(
            Related(f"{name} {launch.number(name)}", launch.facts[name])
            for name in ("layers", "pp")
            if launch.number(name)
        )
        yield Complaint(problem, at, related)


def _problem(stages: list[str], layers: int | None, pp: int | None) -> str | None:
    whole = "".join(stages)
    if not whole.startswith("E") or whole.count("E") != 1:
        return "a layout must start with its one E, the embedding"
    if not whole.endswith("L") or whole.count("L") != 1:
        return "a layout must end with its one L, the loss"
    if layers and whole.count("t") != layers:
        return f"the layout places {whole.count('t')} layers, not {layers}"
    if "m" in whole and "t" in whole[whole.index("m") :]:
        return "prediction layers m must come after all layers t"
    if pp and len(stages) % pp:
        return f"{len(stages)} stages of the layout are not a multiple of pp {pp}"
    return None


def expanded(text: str) -> list[str] | None:
    """The letters of each stage, repetitions written out; None for what is no layout."""
    while (match := _GROUP.search(text)) is not None:
        text = (
            text[: match.start()] + match[1] * min(int(match[2] or 1), _MOST) + text[match.end() :]
        )
        if len(text) > _MOST:
            return None
    letters, position = [], 0
    for match in _ONE.finditer(text):
        if match.start() != position:
            return None
        letters.append(match[1] * min(int(match[2] or 1), _MOST))
        position = match.end()
    return None if position != len(text) else "".join(letters).split("|")
