"""What this session has seen -> the table of docs/acceptance.md: target, version and feature."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docs.tables import markdown, shown
from parc.compiler.plan import Layout, Plan
from parc.dsl.expression import VALUES
from parc.dsl.model import Model
from tests.acceptance.support.environments import TREE

PAGE = TREE / "docs" / "acceptance.md"
#: Columns of the table: the environment that a framework ran in, and its heading.
COLUMNS = {
    "megatron": "Megatron-core 0.19.2",
    "deepspeed": "DeepSpeed 0.19.8",
    "torchtitan-0.2.2": "torchtitan 0.2.2",
    "torchtitan-0.3.0": "torchtitan 0.3.0",
}


@dataclass(frozen=True)
class Ran:
    """What decides the features of a run: of one that was accepted, or of a small one that was trained."""

    layout: Layout
    model: Model
    split: tuple[int, ...]
    precision: str

    @classmethod
    def of(cls, plan: Plan) -> Ran:
        job = plan.job
        return cls(plan.layout, job.model, plan.estimate.split, job.train.precision)

    @classmethod
    def said(cls, run: Mapping[str, Any]) -> Ran:
        """From the JSON of `parc smoke`, which has words for what is chosen by name."""
        words = run["trained"]
        layout = {name: VALUES.get(name, {}).get(value, value) for name, value in words.items()}
        model = Model.model_validate(run["model"])
        return cls(Layout.model_validate(layout), model, tuple(run["split"]), run["precision"])


#: Feature -> whether a run has it.
FEATURES: dict[str, Callable[[Ran], bool]] = {
    "tensor parallelism": lambda ran: ran.layout.tp > 1,
    "pipeline": lambda ran: ran.layout.pp > 1,
    "interleaved pipeline": lambda ran: ran.layout.vpp > 1,
    "context parallelism": lambda ran: ran.layout.cp > 1,
    "expert parallelism": lambda ran: ran.layout.ep > 1,
    "expert tensor parallelism": lambda ran: ran.layout.etp > 1,
    "replicas of shards": lambda ran: ran.layout.dp_replicate > 1 and ran.layout.dp_shard > 1,
    "ZeRO 1": lambda ran: ran.layout.zero == 1,
    "ZeRO 2": lambda ran: ran.layout.zero == 2,
    "ZeRO 3": lambda ran: ran.layout.zero == 3,
    "offload": lambda ran: ran.layout.offload > 0,
    "secondary partition": lambda ran: ran.layout.hpz > 1,
    "selective recomputation": lambda ran: ran.layout.recompute_name == "selective",
    "fine recomputation": lambda ran: ran.layout.recompute_name == "fine",
    "full recomputation": lambda ran: ran.layout.recompute_name == "full",
    "recomputation of some layers": lambda ran: ran.layout.recompute_layers > 0,
    "layers that do not divide": lambda ran: len(set(ran.split)) > 1,
    "grouped queries": lambda ran: not ran.model.mla and ran.model.groups < ran.model.heads,
    "experts": lambda ran: ran.model.moe,
    "latent attention": lambda ran: ran.model.mla,
    "multi-token prediction": lambda ran: ran.model.mtp_layers > 0,
    "fp16": lambda ran: ran.precision == "fp16",
    "fp8": lambda ran: ran.precision == "fp8",
    "mxfp8": lambda ran: ran.precision == "mxfp8",
    "nvfp4": lambda ran: ran.precision == "nvfp4",
}
#: Why a column is not trained without a GPU, by feature; "" stands for all others.
WITHOUT_GPU: Mapping[str, Mapping[str, str]] = {
    # Runs of `parc smoke` are no part of the table: they need a checkout, which not every session has.
    "megatron": {
        "": "`parc smoke` does, with pretrain_gpt.py of a checkout in MEGATRON_ROOT",
        "multi-token prediction": "no run has it",
        "recomputation of some layers": "no run has it",
        "fp16": "CPUs train in bf16",
        "fp8": "products in fp8 need a GPU",
        "mxfp8": "products in fp8 need a GPU",
        "nvfp4": "products in nvfp4 need a GPU",
    },
    "deepspeed": {"fp16": "its CPU accelerator has no fp16"},
    "torchtitan-0.2.2": {
        "context parallelism": "PyTorch has no sharding rule for attention on CPUs",
        "expert tensor parallelism": "PyTorch has no sharding rule for attention on CPUs",
        "expert parallelism": "its token permutation is a triton kernel",
        "fp8": "products in fp8 need a GPU",
        "mxfp8": "products in mxfp8 need a GPU",
    },
    "torchtitan-0.3.0": {"fp8": "products in fp8 need a GPU", "mxfp8": "as fp8"},
}


@dataclass
class Results:
    """How often each feature was accepted and trained, by column."""

    accepted: dict[str, dict[str, int]] = field(default_factory=dict)
    trained: dict[str, dict[str, int]] = field(default_factory=dict)
    tried: dict[str, dict[str, int]] = field(default_factory=dict)

    def accept(self, column: str, plan: Plan) -> None:
        """The framework's own code took this plan's files."""
        _count(self.accepted.setdefault(column, {}), Ran.of(plan))

    def train(self, column: str, ran: Ran) -> None:
        """A run to the end with falling loss."""
        _count(self.trained.setdefault(column, {}), ran)

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(vars(self), indent=2, sort_keys=True) + "\n")


def _count(counts: dict[str, int], ran: Ran) -> None:
    for name, has in FEATURES.items():
        if has(ran):
            counts[name] = counts.get(name, 0) + 1


#: Of this session.
RESULTS = Results()


def table(results: Results) -> str:
    """Rows of features; a cell says how far the framework went, and a note why no further."""
    notes: list[str] = []
    rows = [
        [feature, *(_cell(results, column, feature, notes) for column in COLUMNS)]
        for feature in FEATURES
    ]
    said = [f"{number}. Not trained here: {note}." for number, note in enumerate(notes, 1)]
    return "\n".join([markdown(["feature", *COLUMNS.values()], rows), "", *said])


def _cell(results: Results, column: str, feature: str, notes: list[str]) -> str:
    if results.trained.get(column, {}).get(feature):
        return "trained"
    if not results.accepted.get(column, {}).get(feature):
        return "–"
    reasons = WITHOUT_GPU.get(column, {})
    reason = reasons.get(feature, reasons.get(""))
    if reason is None:
        return "accepted"
    if reason not in notes:
        notes.append(reason)
    return f"accepted ({notes.index(reason) + 1})"


def missing_on_page(results: Results) -> list[str]:
    """Where a framework went further in this session than the page's table says."""
    page = shown(PAGE.read_text())["acceptance"]
    seen, stated = (_steps(text) for text in (table(results), page))
    return [
        f"{feature}: {column}"
        for (feature, column), step in seen.items()
        if step > stated[feature, column]
    ]


def _steps(text: str) -> dict[tuple[str, str], int]:
    """A table's cells by row and column: 0 for nothing, 1 for accepted, 2 for trained."""
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    (_, *columns), _, *features = rows
    steps = {"–": 0, "accepted": 1, "trained": 2}
    return {
        (feature, column): steps[cell.partition(" ")[0]]
        for feature, *cells in features
        for column, cell in zip(columns, cells, strict=True)
    }
