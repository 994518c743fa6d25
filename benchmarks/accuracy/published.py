"""Layouts that were published for well-known jobs beside parc's choice, both priced, and what differs.

    python benchmarks/accuracy/published.py [--json FILE] [--docs]

A job has the model, GPUs, batch, sequence length and precision that its owners state, on their kind of
framework as it is today, with traffic overlapped as they say. What they leave open, and recomputation that
attention of its time made necessary, is filled as the fastest that fits. parc's choice is the sweep's on the
same target. Why is told by the parts of a step that differ most, and by the probability that parc's layout is
faster (compiler/pricing/mechanisms.py).

`--json` writes a list of {"job", "source", "target", "owners", "chosen", "measured", "faster", "gain",
"parts", "error"}: layouts with their MFU and the probability to run out of memory; the MFU that owners
measured; the probability that the chosen layout is faster, the share of the owners' step that it saves, and
what each part of a step has in that; or why their layout has no price.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that it runs by its path
from benchmarks.accuracy import accuracy, guide
from benchmarks.accuracy.report import document_tables
from benchmarks.accuracy.report.plain_text import percent
from benchmarks.accuracy.rows.csv_rows import Row, row_of, rows
from benchmarks.accuracy.rows.measured_seconds import measured_seconds
from benchmarks.accuracy.setups.setup import RECOMPUTE, setup_of
from benchmarks.accuracy.setups.stacks import stack_of
from docs.tables import markdown
from parc.backends import BACKENDS
from parc.compiler.case import Case
from parc.compiler.headroom import DEFAULT_RISK
from parc.compiler.plan import Estimate, Layout
from parc.compiler.pricing.estimate import estimate_layout, one_row
from parc.compiler.pricing.mechanisms import LAYOUT, SPREADS, shares
from parc.compiler.search.best_first import explored
from parc.compiler.search.complete_layout import complete
from parc.compiler.search.simplicity import CROWDED, complexity
from parc.compiler.search.space import Space
from parc.compiler.variables import ORDER
from parc.dsl import JobError
from parc.dsl.job import WITHIN, Job, TargetSpec, Train

#: Rows of benchmarks/data/measured_public.csv: SC21's table 1, Llama 3 405B in its three stages, Llama 3 8B
#: and 70B on 8 to 512 GPUs by NVIDIA and by torchtitan's authors.
ROWS = (
    *(f"megatron-sc21-{number:04}" for number in range(1, 11)),
    *(f"paper-{number:04}" for number in range(1, 4)),
    "new-0135", "new-0138", "new-0139", "new-0123", "new-0125", "new-0126",
    "megatron-bridge-performance--0255", "megatron-bridge-performance--0256",
    "megatron-bridge-performance--0238", "megatron-bridge-performance--0240",
    "megatron-bridge-performance--0073", "torchtitan-benchmarks-0004", "torchtitan-benchmarks-0019",
    "torchtitan-benchmarks-0034", "torchtitan-benchmarks-0035",
)  # fmt: skip
#: Mixtral 8x7B as Megatron-LM's example runs it, on 64 GPUs
#: (examples/mixtral/train_mixtral_8x7b_distributed.sh).
MIXTRAL = {
    "id": "mixtral", "source": "Megatron-LM examples/mixtral", "model": "Mixtral-8x7B", "gpu": "H100-SXM",
    "gpus": "64", "layers": "32", "hidden": "4096", "heads": "32", "kv_heads": "8", "ffn_hidden": "14336",
    "gated_mlp": "1", "vocab": "32000", "seq_len": "4096", "experts": "8", "topk": "2",
    "moe_ffn_hidden": "14336", "tp": "1", "pp": "4", "ep": "8", "dp": "16", "mbs": "1", "gbs": "256",
    "zero_stage": "1", "precision": "bf16", "attention": "flash", "framework": "megatron-lm",
}  # fmt: skip
#: DeepSeek-V3 on the stack that its authors describe, and their GPU hours per token (arXiv 2412.19437, table
#: 1). They repeat norms, up-projections and activation functions (3.2.3), and scale products in fp8 by tiles
#: and blocks (3.3.2).
DEEPSEEK_V3 = guide.PAPER | {
    "source": "DeepSeek-V3 paper, its authors' stack", "framework": "hai-llm", "vpp": "1", "mbs": "1",
    "recompute": "fine",
}  # fmt: skip
HOURS_PER_TOKEN = 2_664e3 / 14.8e12
#: What a row says of its stack, by the name of the setting of a target that makes it true.
STACK = ("tp_overlap", "dp_overlap")
DEGREES = ("tp", "pp", "vpp", "cp", "ep")
#: Parts of a step that are named: those that differ most, from so much of it on.
PARTS, LEAST = 3, 0.005
HEAD = ("job", "its owners' layout, priced", "parc's layout, priced", "why")


@dataclass(frozen=True)
class Choice:
    """A job with the layout of its owners and parc's own; `owners` is None where `error` says why.
    `measured` is the MFU of their own run, causal attention halved."""

    job: str
    source: str
    case: Case
    owners: Estimate | None
    chosen: Estimate
    error: str = ""
    measured: float | None = None

    @cached_property
    def parts(self) -> dict[str, float]:
        """Time that the chosen layout saves in each part of a step, as a share of the owners' step."""
        theirs = self.owners or self.chosen
        names = dict.fromkeys((*theirs.time, *self.chosen.time))
        ours = self.chosen.time
        return {
            name: (theirs.time.get(name, 0.0) - ours.get(name, 0.0)) / theirs.step_seconds
            for name in names
        }

    @property
    def gain(self) -> float:
        """The share of the owners' step that the chosen layout saves."""
        return sum(self.parts.values())

    @cached_property
    def faster(self) -> float:
        """Probability that the chosen layout is faster than the owners'."""
        if self.owners is None or self.owners.layout == self.chosen.layout:
            return 0.5
        ways = [decisions(each.layout) for each in (self.owners, self.chosen)]
        theirs, ours = (shares(self.case, one_row(self.case, layout))[:, 0] for layout in ways)
        deviation = np.sqrt(2 * LAYOUT**2 + np.sum(((theirs - ours) * SPREADS) ** 2))
        distance = np.log(self.owners.step_seconds / self.chosen.step_seconds)
        return NormalDist().cdf(float(distance / deviation))

    @property
    def needlessly_split(self) -> bool:
        """Whether the owners' layout, if it may be chosen, is simpler and as good within `goal.within`."""
        if self.owners is None or self.owners.memory_bytes > self.owners.ceiling_bytes:
            return False
        ours, theirs = (effort(self.case, each) for each in (self.chosen, self.owners))
        return ours > theirs and self.owners.step_seconds <= self.chosen.step_seconds * (1 + WITHIN)


def decisions(layout: Layout) -> dict[str, int]:
    return {name: getattr(layout, name) for name in ORDER}


def effort(case: Case, priced: Estimate) -> int:
    """The tie-break between layouts that are about equally good, as `search/sweep.py` has it."""
    plain = int(complexity(one_row(case, decisions(priced.layout)))[0])
    return plain + (0 if priced.has_headroom else CROWDED)


def choices() -> Iterator[Choice]:
    """Every published layout beside parc's."""
    for row in guide.recommended():
        target = "torchtitan" if row.zero_stage == 3 else "megatron"
        yield choice(row, Case(guide.job_of(row, target), BACKENDS[target].target))
    for row in published():
        yield replace(choice(row, case_of(row)), measured=measured_mfu(row))
    yield deepseek_v3()


def deepseek_v3() -> Choice:
    """DeepSeek-V3 with the traits of its authors' stack, theirs and parc's layout alike."""
    row, megatron = row_of(DEEPSEEK_V3), BACKENDS["megatron"].target
    traits = megatron.traits.replaced(**dict(stack_of(row).traits))
    spec = TargetSpec(name=megatron.name, options=megatron.options(fp8_recipe="blockwise"))
    job = guide.job_of(row, megatron.name).model_copy(update={"targets": (spec,)})
    case = Case(job, replace(megatron, traits=traits))
    tokens = case.train.global_batch * case.seq_len
    flops = case.job.peak_flops * HOURS_PER_TOKEN * 3600 * tokens
    return replace(choice(row, case), measured=case.model_flops / flops)


def published() -> list[Row]:
    found = {row.id: row for _, row in rows(accuracy.DATA) if isinstance(row, Row)}
    return [*(found[name] for name in ROWS), row_of(MIXTRAL)]


def case_of(row: Row) -> Case:
    """A measured row's job on its target of today."""
    asked = setup_of(row).asked
    target = BACKENDS[asked.target].target
    train = Train(
        seq_len=asked.train.seq_len,
        global_batch=asked.train.global_batch,
        steps=1,
        precision=asked.train.precision,
        compile=asked.train.compile,
    )
    fields = target.options.model_fields
    stack = {
        name: bool(value)
        for name in STACK
        if name in fields and (value := getattr(row, name)) is not None
    }
    spec = TargetSpec(name=asked.target, options=target.options(**stack))
    job = Job(
        name=asked.model.name,
        path="",
        digest="",
        model=asked.model,
        cluster=asked.cluster,
        train=train,
        targets=(spec,),
    )
    return Case(job, target)


def choice(row: Row, case: Case) -> Choice:
    swept = explored(Space(case))
    chosen = estimate_layout(case, swept.decisions(int(swept.order[0])))
    job = f"{row.model}, {job_text(case)} ({row.source})"
    try:
        owners = estimate_layout(case, complete(case, stated(row)))
    except JobError as refused:
        return Choice(job, row.source, case, None, chosen, refused.diagnostics[0].message)
    return Choice(job, row.source, case, owners, chosen)


def measured_mfu(row: Row) -> float | None:
    """MFU of a row by its own time, causal attention halved."""
    case = setup_of(row).case
    seconds = measured_seconds(case, row)
    return case.model_flops / (case.job.peak_flops * (row.gpus or 1) * seconds) if seconds else None


def job_text(case: Case) -> str:
    gpus = max(case.cluster.nodes) * case.cluster.gpus_per_node
    gpu = case.gpu.name.replace("_", " ").upper()
    options = case.job.options(case.target.name).model_dump(exclude_defaults=True)
    stack = "".join(f", {name}" for name in STACK if options.get(name))
    return f"{gpus:,} {gpu}, {case.seq_len:,} tokens, {case.train.precision}{stack}"


def stated(row: Row) -> dict[str, int]:
    """The variables that a row states, but for recomputation that unfused attention made necessary."""
    found = {name: getattr(row, name) or 1 for name in ("tp", "pp", "cp", "ep")}
    given = {"vpp": row.vpp, "micro_batch": row.mbs, "zero": row.zero_stage}
    if row.recompute and not row.attention.startswith("unfused"):
        given["recompute"] = RECOMPUTE[row.recompute]
        given["recompute_layers"] = row.recompute_layers
    return found | {name: value for name, value in given.items() if value is not None}


def why(each: Choice) -> str:
    """One sentence from the numbers of both."""
    if each.owners is None:
        return f"theirs: {each.error}"
    if each.owners.layout == each.chosen.layout:
        return "the same"
    told = sorted(each.parts, key=lambda name: -abs(each.parts[name]))[:PARTS]
    signed = [
        f"{name} {percent(-each.parts[name], True)}"
        for name in told
        if abs(each.parts[name]) >= LEAST
    ]
    risk = each.owners.out_of_memory
    memory = (
        f"; theirs is predicted to run out of memory with {chance(risk)}"
        if risk > DEFAULT_RISK
        else ""
    )
    if each.gain > 0:
        text = f"{percent(each.gain)} less time, faster with {chance(each.faster)}"
    else:
        text = f"{percent(-each.gain)} more time, faster with {chance(each.faster)}"
    return f"{text}{': ' if signed else ''}{', '.join(signed)}{memory}"


def chance(value: float) -> str:
    return "> 99 %" if value > 0.995 else f"{100 * value:.0f} %"


def priced(estimate: Estimate) -> str:
    layout = estimate.layout
    shown = [f"{name} {getattr(layout, name)}" for name in DEGREES if getattr(layout, name) > 1]
    rest = f"micro-batch {layout.micro_batch} · recompute {layout.recompute_name}"
    return f"{' · '.join([*shown, f'zero {layout.zero}'])} · {rest}: MFU {percent(estimate.mfu)}"


def theirs(each: Choice) -> str:
    """The owners' layout with its price and what they measured."""
    if each.owners is None:
        return "–"
    measured = f", measured {percent(each.measured)}" if each.measured else ""
    return priced(each.owners) + measured


def table(found: Sequence[Choice]) -> str:
    lines = [(each.job, theirs(each), priced(each.chosen), why(each)) for each in found]
    return markdown(HEAD, lines)


def report(found: Sequence[Choice]) -> list[dict[str, Any]]:
    def of(estimate: Estimate | None) -> Mapping[str, Any] | None:
        if estimate is None:
            return None
        return {
            "layout": estimate.layout.in_words,
            "mfu": estimate.mfu,
            "out_of_memory": estimate.out_of_memory,
        }

    return [
        {
            "job": each.job,
            "source": each.source,
            "target": each.case.target.name,
            "owners": of(each.owners),
            "chosen": of(each.chosen),
            "measured": each.measured,
            "faster": each.faster,
            "gain": each.gain,
            "parts": each.parts,
            "error": each.error,
        }
        for each in found
    ]


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="also write the report here")
    parser.add_argument(
        "--docs", action="store_true", help="renew the table of docs/cost-model/published.md"
    )
    asked = parser.parse_args(given)
    found = list(choices())
    if asked.json:
        asked.json.write_text(json.dumps(report(found), indent=2) + "\n")
    if asked.docs:
        document_tables.write_published(table(found))
    print(table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
