"""The plan's layers per stage -> the simplest Megatron-LM options that mean exactly that."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from ....compiler.plan import Plan
from .flags import Flag, flag, switches

Chunks = Sequence[Sequence[int]]


def split_flags(plan: Plan) -> list[Flag]:
    """Options that place the layers, vpp included; empty without a pipeline."""
    layout = plan.layout
    if layout.pp == 1:
        return []
    ranks = [stage.layers for stage in plan.estimate.stages]
    chunks = plan.estimate.split
    ways = (_even(chunks), _with_ends(chunks), _uneven_ends(ranks))
    found = next((way for way in ways if way is not None), None)
    if found is None:
        text = layout_text(chunks, plan.job.model.mtp_layers)
        why = described(chunks, "chunk") + (f"; {_bubble(plan)}" if layout.vpp > 1 else "")
        return [flag("--pipeline-model-parallel-layout", text, why=why)]
    if layout.vpp > 1:
        count = "--num-virtual-stages-per-pipeline-rank"
        found = [flag(count, layout.vpp, why=_bubble(plan)), *found]
    return found


def described(counts: Sequence[int], noun: str) -> str:
    """`1 stage of 7 layers, 14 of 8, 1 of 7`"""
    runs = [(count, len(list(run))) for count, run in groupby(counts)]
    (layers, length), *rest = runs
    first = f"{length} {noun}{'s' if length > 1 else ''} of {layers} layers"
    return ", ".join([first, *(f"{length} of {layers}" for layers, length in rest)])


def _bubble(plan: Plan) -> str:
    layout = plan.layout
    plain = (layout.pp - 1) / layout.microbatches
    return f"pipeline idle for {plain / layout.vpp:.1%} of the computation, not {plain:.1%}"


def _even(chunks: Sequence[int]) -> list[Flag] | None:
    return [] if len(set(chunks)) == 1 else None


_EMBEDDING = "--account-for-embedding-in-pipeline-split"
_LOSS = "--account-for-loss-in-pipeline-split"


def _with_ends(chunks: Sequence[int]) -> list[Flag] | None:
    """Embedding, loss or both counted as a layer of the first and of the last chunk."""
    for first, last, names in (
        (1, 1, (_EMBEDDING, _LOSS)),
        (1, 0, (_EMBEDDING,)),
        (0, 1, (_LOSS,)),
    ):
        units = list(chunks)
        units[0] += first
        units[-1] += last
        if len(set(units)) == 1:
            found = switches(*names)
            return [replace(found[0], why=described(chunks, "chunk")), *found[1:]]
    return None


def _uneven_ends(ranks: Chunks) -> list[Flag] | None:
    """The first rank, the last or both differ from the middle ones; the chunks of a rank are alike."""
    if any(len(set(rank)) > 1 for rank in ranks):
        return None
    totals = [sum(rank) for rank in ranks]
    if min(totals) == 0:
        return None
    why = described(totals, "stage")
    first = flag("--decoder-first-pipeline-num-layers", totals[0], why=why)
    last = flag("--decoder-last-pipeline-num-layers", totals[-1], why=why)
    if len(set(totals[1:])) == 1:
        return [first]
    if len(set(totals[:-1])) == 1:
        return [last]
    if len(set(totals[1:-1])) == 1:
        return [first, replace(last, why="")]
    return None


def layout_text(chunks: Sequence[int], mtp_layers: int) -> str:
    """`Et*7|(t*8|)*14t*7L`: E embedding, t layer, m multi-token prediction, L loss; `|` ends a stage."""
    stages = [_repeated("t", count) for count in chunks]
    stages[0] = "E" + stages[0]
    stages[-1] += _repeated("m", mtp_layers) + "L"
    text = ""
    for stage, run in groupby(stages[:-1]):
        length = len(list(run))
        text += f"{stage}|" if length == 1 else f"({stage}|)*{length}"
    return text + stages[-1]


def _repeated(letter: str, count: int) -> str:
    return letter * count if count < 2 else f"{letter}*{count}"


_GROUP = re.compile(r"\(([^()]+)\)\*(\d+)")


def stage_count(text: str) -> int:
    """Virtual stages of a layout string."""
    return _GROUP.sub(lambda match: match[1] * int(match[2]), text).count("|") + 1
