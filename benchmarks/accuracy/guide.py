"""The layouts that a well-known guide recommends beside parc's own, both priced.

    python benchmarks/accuracy/guide.py

Prints the Markdown tables of docs/cost-model/guide.md. The guide's rows (`source` begins with "guide" in
data/measured_public.csv) name a size, GPUs and degrees, no GPU and no batch: they are priced on H100 nodes
with a batch of about four million tokens. What a layout leaves open parc fills, the fastest that fits.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import log2
from pathlib import Path

import parc

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that it runs by its path
from benchmarks.accuracy import accuracy
from benchmarks.accuracy.report.scores import Scored
from benchmarks.accuracy.rows.csv_rows import Row, row_of, rows
from docs.tables import markdown
from parc.backends import BACKENDS
from parc.compiler.model.parameters import total
from parc.compiler.plan import Estimate, Layout, Plan
from parc.compiler.traits import StateBytes
from parc.dsl import JobError, loads
from parc.dsl.job import Job

GIB, GIGA = 2**30, 1e9
#: A size in the guide's words -> a model of about that size, its sequence length, sequences per step.
MODELS = {
    "7B": ("llama2_7b", 4096, 1024),
    "13B": ("llama2_13b", 4096, 1024),
    "30B": ("llama1_33b", 2048, 2048),
    "70B": ("llama2_70b", 4096, 1024),
    "175B": ("gpt3_175b", 2048, 1536),
    "405B": ("llama3_405b", 8192, 2048),
    "671B": ("deepseek_v3", 4096, 15360),
    "1M-context model": ("llama3_8b", 1048576, 4),
}
TARGETS = ("megatron", "torchtitan")
#: The pod of a size that did not train on H100.
PODS = {"671B": "h800_pod"}
#: DeepSeek-V3 as its paper ran it (arXiv 2412.19437, 3.2): the largest size that guides name.
PAPER = {
    "id": "deepseek-v3", "source": "DeepSeek-V3 paper", "model": "671B", "gpus": "2048",
    "tp": "1", "pp": "16", "ep": "64", "dp": "128", "precision": "fp8", "zero_stage": "1",
    "notes": "DualPipe, which no target has",
}  # fmt: skip
#: Measured runs near a row: parameters, GPUs and sequence length within these factors.
NEAR = {"parameters": 1.5, "gpus": 4.0, "seq_len": 4.0}
GPUS = ("A100-80", "H100-SXM")
DEGREES = ("tp", "pp", "cp", "ep")
HEAD = ("guide", "its layout, priced", "parc's layout, priced", "the fastest measured runs near it")


@dataclass(frozen=True)
class Advice:
    """One recommended row with both layouts priced; `error` says why the guide's has no price."""

    row: Row
    job: Job
    guided: Estimate | None
    error: str
    best: Plan


def _nodes(row: Row) -> int:
    """Whole nodes that hold the row's GPUs and every product of its degrees."""
    model_parallel = (row.tp or 1) * (row.pp or 1) * (row.cp or 1)
    return max(row.gpus or 8, model_parallel) // 8


def job_of(row: Row, target: str) -> Job:
    model, seq_len, batch = MODELS[row.model]
    precision = row.precision or "bf16"
    text = f"""
    model m from std.{model} {{}}
    cluster c from std.{PODS.get(row.model, "h100_pod")} {{ nodes = {_nodes(row)} }}
    train {{ seq_len = {seq_len}; global_batch = {batch}; tokens = 1T; precision = {precision} }}
    goal {{ maximize mfu; require memory <= 92% }}
    target {target} {{}}
    """
    options = {name: backend.target.options for name, backend in BACKENDS.items()}
    return loads(text, "guide.par", (), options)


def advice(row: Row) -> Advice:
    """The guide's layout on the framework whose words it uses, parc's on the faster one."""
    sharded = row.zero_stage == 3
    target = "torchtitan" if sharded else "megatron"
    job = job_of(row, target)
    layout = {name: getattr(row, name) or 1 for name in DEGREES} | ({"zero": 3} if sharded else {})
    guided, error = None, ""
    try:
        guided = parc.estimate(job, layout, target)
    except JobError as refused:
        error = refused.diagnostics[0].message
    plans = [plan for name in TARGETS for plan in _plans(job_of(row, name))]
    return Advice(row, job, guided, error, max(plans, key=lambda plan: plan.estimate.mfu))


def _plans(job: Job) -> Sequence[Plan]:
    try:
        return parc.compile(job)
    except JobError:
        return []


@cache
def measured() -> tuple[Scored, ...]:
    return tuple(run for run in accuracy.score(accuracy.DATA).runs if run.measured is not None)


def measured_mfu(run: Scored) -> float:
    """Causal attention halved, against the peak of the run's precision."""
    case = run.setup.case
    peak = case.job.peak_flops * (run.row.gpus or 1)
    return case.model_flops / (peak * (run.measured or 1.0))


def near(each: Advice) -> Mapping[str, Scored]:
    """By GPU, the measured run of highest MFU among those near the row."""
    found: dict[str, Scored] = {}
    for run in measured():
        if not _is_near(run, each):
            continue
        held = found.get(run.row.gpu)
        if held is None or measured_mfu(run) > measured_mfu(held):
            found[run.row.gpu] = run
    return found


def _is_near(run: Scored, each: Advice) -> bool:
    case, gpus = run.setup.case, 8 * _nodes(each.row)
    pairs = {
        "parameters": (size(case.job), size(each.job)),
        "gpus": (run.row.gpus or 1, gpus),
        "seq_len": (case.seq_len, each.job.train.seq_len),
    }
    alike = run.row.gpu in GPUS and bool(case.model.moe) == bool(each.job.model.moe)
    return alike and all(
        1 / NEAR[name] <= one / other <= NEAR[name] for name, (one, other) in pairs.items()
    )


def size(job: Job) -> int:
    """Parameters of the model."""
    return total(job.model, seq_len=job.train.seq_len)


def distance(run: Scored, layout: Layout) -> float:
    """Doublings of degrees between a run and a layout."""
    pairs = ((run.setup.layout.get(name, 1), getattr(layout, name)) for name in DEGREES)
    return sum(abs(log2(one / other)) for one, other in pairs)


def degrees(values: Mapping[str, int]) -> str:
    """Layout variables in a few words."""
    shown = [f"{name} {values[name]}" for name in DEGREES if values.get(name, 1) > 1]
    return " · ".join([*shown, f"zero {values.get('zero', 0)}"])


def priced(estimate: Estimate) -> str:
    layout = estimate.layout
    fits = estimate.memory_bytes <= estimate.ceiling_bytes
    memory = f"{estimate.memory_bytes / GIB:.0f} GiB" + ("" if fits else ", does not fit")
    batch = f"micro-batch {layout.micro_batch}, recompute {layout.recompute_name}"
    return f"{degrees(layout.model_dump())}, {batch}: MFU {estimate.mfu:.0%}, {memory}"


def evidence(each: Advice) -> str:
    """The nearest runs, and which of the two layouts each is closer to."""
    lines = []
    for gpu, run in sorted(near(each).items()):
        toward = _verdict(run, each)
        where = f"{run.row.gpus} {gpu} ({run.row.source})"
        lines.append(f"{degrees(run.setup.layout)} on {where}: {measured_mfu(run):.0%}, {toward}")
    return "; ".join(lines) or "none is public"


def _verdict(run: Scored, each: Advice) -> str:
    ours = distance(run, each.best.layout)
    theirs = distance(run, each.guided.layout) if each.guided else float("inf")
    if ours == theirs:
        return "for neither"
    return "for parc's" if ours < theirs else "for the guide's"


def recommended() -> list[Row]:
    """The rows with a recommended layout, those that appear twice once."""
    found: dict[tuple[object, ...], Row] = {}
    for _, row in rows(accuracy.DATA):
        if isinstance(row, Row) and row.source == "guide: recommended layouts":
            key = (row.model, row.tp, row.pp, row.cp or 1, row.gpus, row.precision or "bf16")
            found.setdefault(key, row)
    return [*found.values(), row_of(PAPER)]


def layouts_table() -> list[tuple[str, ...]]:
    """The rows below HEAD."""
    table: list[tuple[str, ...]] = []
    for each in map(advice, recommended()):
        guided = priced(each.guided) if each.guided else each.error
        asked = f"{each.row.model} on {each.row.gpus:,} GPUs, {each.row.precision or 'bf16'}"
        ours = f"{each.best.target}, {priced(each.best.estimate)}"
        table.append((asked, guided, ours, evidence(each)))
    return table


#: 2 bytes of weights and of gradients and 8 of optimizer state per parameter: the guide's arithmetic.
ARITHMETIC = {"weights": 2.0, "gradients": 2.0, "optimizer": 8.0}
ZERO_HEAD = ("ZeRO", "the guide", "2 + 2 + 8 bytes", "Megatron-LM", "DeepSpeed", "torchtitan")


def state_bytes(state: StateBytes, parameters: float, ways: int) -> float:
    """Bytes on one of `ways` ranks."""
    return parameters * sum(
        float(getattr(state, kind)) / (ways if getattr(state, f"{kind}_sharded") else 1)
        for kind in ARITHMETIC
    )


def arithmetic(zero: int) -> StateBytes:
    return StateBytes(
        weights=ARITHMETIC["weights"],
        gradients=ARITHMETIC["gradients"],
        optimizer=ARITHMETIC["optimizer"],
        weights_sharded=zero >= 3,
        gradients_sharded=zero >= 2,
        optimizer_sharded=zero >= 1,
    )


def zero_table() -> list[tuple[str, ...]]:
    """States of 7 billion parameters on 4 GPUs, GB per GPU, in the guide's bytes and in each framework's."""
    job = job_of(next(row for row in recommended() if row.model == "7B"), "megatron")
    table = []
    for _, row in rows(accuracy.DATA):
        if not isinstance(row, Row) or row.source != "guide: ZeRO memory arithmetic":
            continue
        zero, ways = row.zero_stage or 0, row.gpus or 1
        states = [arithmetic(zero)]
        states += [
            BACKENDS[name].target.traits.memory.state(job, zero)
            for name in ("megatron", "deepspeed", "torchtitan")
        ]
        sizes = [state_bytes(state, 7e9, ways) / GIGA for state in states]
        table.append((str(zero), f"{row.mem_gb:g}", *(f"{size:.4g}" for size in sizes)))
    return table


def tables() -> dict[str, str]:
    """The tables of docs/cost-model/guide.md by name."""
    return {"guide": markdown(HEAD, layouts_table()), "zero": markdown(ZERO_HEAD, zero_table())}


if __name__ == "__main__":
    print(*tables().values(), sep="\n\n")
