"""What this session has seen -> the table of docs/acceptance.md: target, version and feature."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from environments import TREE

from parc.compiler.plan import Layout, Plan

PAGE = TREE / "docs" / "acceptance.md"
BEGIN, END = "<!-- table acceptance -->", "<!-- end -->"
#: Columns of the table: the environment that a framework ran in, and its heading.
COLUMNS = {
    "megatron": "Megatron-core 0.19.2",
    "deepspeed": "DeepSpeed 0.19.8",
    "torchtitan-0.2.2": "torchtitan 0.2.2",
    "torchtitan-0.3.0": "torchtitan 0.3.0",
}

#: Features that a layout alone shows.
OF_LAYOUT: dict[str, Callable[[Layout], bool]] = {
    "tensor parallelism": lambda layout: layout.tp > 1,
    "pipeline": lambda layout: layout.pp > 1,
    "interleaved pipeline": lambda layout: layout.vpp > 1,
    "context parallelism": lambda layout: layout.cp > 1,
    "expert parallelism": lambda layout: layout.ep > 1,
    "expert tensor parallelism": lambda layout: layout.etp > 1,
    "replicas of shards": lambda layout: layout.dp_replicate > 1 and layout.dp_shard > 1,
    "ZeRO 1": lambda layout: layout.zero == 1,
    "ZeRO 2": lambda layout: layout.zero == 2,
    "ZeRO 3": lambda layout: layout.zero == 3,
    "offload": lambda layout: layout.offload > 0,
    "secondary partition": lambda layout: layout.hpz > 1,
    "selective recomputation": lambda layout: layout.recompute == 1,
    "full recomputation": lambda layout: layout.recompute == 2,
    "recomputation of some layers": lambda layout: layout.recompute_layers > 0,
}
#: Features of the job.
OF_JOB: dict[str, Callable[[Plan], bool]] = {
    "layers that do not divide": lambda plan: len(set(plan.estimate.split)) > 1,
    "grouped queries": lambda plan: plan.job.model.groups < plan.job.model.heads,
    "experts": lambda plan: plan.job.model.moe,
    "latent attention": lambda plan: plan.job.model.mla,
    "multi-token prediction": lambda plan: plan.job.model.mtp_layers > 0,
    "fp16": lambda plan: plan.job.train.precision == "fp16",
    "fp8": lambda plan: plan.job.train.precision == "fp8",
    "mxfp8": lambda plan: plan.job.train.precision == "mxfp8",
}
FEATURES = (*OF_LAYOUT, *OF_JOB)
#: Why a column is not trained without a GPU, by feature; "" stands for all others.
WITHOUT_GPU: Mapping[str, Mapping[str, str]] = {
    # Its runs are no part of the table: they need a checkout, which not every session has.
    "megatron": {
        "": "pretrain_gpt.py is in no package; with a checkout in MEGATRON_ROOT it is trained",
        "multi-token prediction": "no run has it",
        "recomputation of some layers": "no run has it",
        "fp16": "CPUs train in bf16",
        "fp8": "products in fp8 need a GPU",
        "mxfp8": "products in fp8 need a GPU",
    },
    "deepspeed": {"fp16": "its CPU accelerator has no fp16"},
    "torchtitan-0.2.2": {
        "context parallelism": "PyTorch has no sharding rule for attention on CPUs",
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
        found = [name for name, has in OF_JOB.items() if has(plan)]
        found += [name for name, has in OF_LAYOUT.items() if has(plan.layout)]
        _count(self.accepted.setdefault(column, {}), found)

    def train(self, column: str, layout: Mapping[str, Any], *features: str) -> None:
        """A run with falling loss; `layout` may lack what was not decided."""
        known = {name: value for name, value in layout.items() if name in Layout.model_fields}
        numbers = {name: value for name, value in known.items() if type(value) is int}
        trained = Layout(**numbers)
        found = [name for name, has in OF_LAYOUT.items() if has(trained)]
        _count(self.trained.setdefault(column, {}), [*found, *features])

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(vars(self), indent=2, sort_keys=True) + "\n")


def _count(counts: dict[str, int], names: list[str]) -> None:
    for name in names:
        counts[name] = counts.get(name, 0) + 1


#: Of this session.
RESULTS = Results()


def table(results: Results) -> str:
    """Rows of features; a cell says how far the framework went, and a note why no further."""
    notes: list[str] = []
    rows = [["feature", *COLUMNS.values()], ["---"] * (len(COLUMNS) + 1)]
    rows += [
        [feature, *(_cell(results, column, feature, notes) for column in COLUMNS)]
        for feature in FEATURES
    ]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    said = [f"{number}. Not trained here: {note}." for number, note in enumerate(notes, 1)]
    return "\n".join([*lines, "", *said])


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


def page_with(text: str) -> str:
    """The page with this table."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    return f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}"
