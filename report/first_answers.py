"""A plan -> what is asked first of it: what to run, how fast, how long, how sure, will it fit."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import PurePath

from parc.backends import BACKENDS
from parc.backends.languages.bash import operand
from parc.compiler.plan import Estimate, Plan
from parc.compiler.risk import band
from parc.printing.choice_text import fastest
from parc.printing.plan_text import error_bar
from parc.printing.words.numbers import (
    counted,
    duration,
    peak_of,
    risk,
    seconds,
    short,
    span,
    stored,
)

GIB = 2**30


@dataclass(frozen=True)
class Answer:
    """A question, its answer in a few letters, and what to know besides."""

    question: str
    answer: str
    notes: tuple[str, ...]


def headline(plan: Plan, best: bool = True) -> str:
    """Headline of a plan: the recommended run, or an alternative to it."""
    gpus = counted(plan.layout.gpus, "GPU")
    if plan.target not in BACKENDS:
        return f"A layout of {gpus}, without a framework"
    return f"{'Run' if best else 'Or run'} {plan.target} on {gpus}"


def answers(plan: Plan) -> list[Answer]:
    estimate = plan.estimate
    return [
        _answer("How fast", f"{seconds(estimate.step_seconds)} a step", _speed(plan)),
        _answer("How long", duration(estimate.days), _length(plan)),
        _answer("How sure", error_bar(estimate), _certainty(plan)),
        _answer("Will it fit", _memory(estimate), (_risk(estimate),)),
    ]


def _answer(question: str, answer: str, notes: tuple[str, ...]) -> Answer:
    return Answer(question, _percent(answer), tuple(map(_percent, notes)))


def command(plan: Plan, several: bool) -> str:
    """The command that writes the plan's files, in the job's folder; empty where it has none."""
    if plan.target not in BACKENDS:
        return ""
    target = ["--target", plan.target] if several else []
    changes = [word for each in plan.job.overrides for word in ("--set", each)]
    job = operand(PurePath(plan.job.path).name)
    return shlex.join(["parc", "compile", job, "-o", "out", *target, *changes])


def kept(plan: Plan) -> str:
    """The size of a checkpoint, and how many there will be and stay."""
    found = plan.checkpoints
    stay = "" if found.kept == found.written else f", {found.kept:,} stay"
    return f"{stored(plan.estimate.checkpoint.bytes)}, {found.written:,} in the run{stay}"


def _speed(plan: Plan) -> tuple[str, ...]:
    estimate = plan.estimate
    return (
        f"{estimate.tokens_per_second_per_gpu:,.0f} tokens/s/GPU",
        f"{estimate.tflops_per_gpu:,.0f} TFLOP/s/GPU: MFU {100 * estimate.mfu:.1f} % of "
        f"{peak_of(plan.job)}",
    )


def _length(plan: Plan) -> tuple[str, ...]:
    estimate, train = plan.estimate, plan.job.train
    length = f"{short(train.tokens)} tokens" if train.tokens else f"{train.total_steps:,} steps"
    notes = [f"{length} at {estimate.tokens_per_second:,.0f} tokens/s"]
    if estimate.cost:
        notes.append(f"{short(estimate.cost)}$ at the cluster's price")
    if plan.job.saves(plan.target):
        interval = span(plan.checkpoints.interval_seconds)
        notes.append(f"a checkpoint every {interval}: {kept(plan)}")
    return tuple(notes)


def _certainty(plan: Plan) -> tuple[str, ...]:
    estimate, doubt = plan.estimate, plan.doubt
    low, high = map(seconds, band(estimate.step_seconds, estimate.step_spread))
    least, most = (f"{100 * end:.0f}" for end in estimate.mfu_band)
    notes = [f"four runs in five take {low} to {high}, MFU {least}–{most} %", estimate.familiarity]
    if doubt is not None and doubt.contenders > 1:
        chance = f"{risk(doubt.chance)} chance that no layout is {_better(plan)}"
        notes.append(f"{chance}; expected loss {doubt.regret:.1%}")
    return tuple(notes)


def _better(plan: Plan) -> str:
    return "faster" if fastest(plan) == "fastest" else "better"


def _memory(estimate: Estimate) -> str:
    return f"{estimate.memory_bytes / GIB:.1f} of {estimate.ceiling_bytes / GIB:.1f} GiB"


def _risk(estimate: Estimate) -> str:
    return f"on the fullest GPU; {risk(estimate.out_of_memory)} risk of running out of memory"


def _percent(text: str) -> str:
    """A per cent sign stays with its number."""
    return text.replace(" %", "%").replace("%", "\u00a0%")
