"""Every fact of the stack on every target: emitted, read back, linted and priced as its backend declares."""

from __future__ import annotations

from typing import Any

import pytest

from parc.backends import BACKENDS
from parc.backends.launch_files import read_jobs
from parc.backends.stack_facts import FACTS, Fixed, Said
from parc.compiler import estimate
from parc.compiler.plan import Layout, Plan
from parc.compiler.rules.validity import problems
from parc.dsl.diagnostics import Diagnostic
from parc.dsl.job import Job, Train
from parc.lint.judging import LintOptions
from parc.lint.run import lint_texts
from parc.lint.unexpressed import unexpressed
from tests.support import sample_plans

FILLED = list(BACKENDS)
DRIFT = "PAR163"
#: Compare with the best layout, which these plans do not have.
SOLVED = ("PAR162", "PAR702")


def declared(kind: type) -> list[Any]:
    """Target, fact and what is declared of it, for those of one kind."""
    return [
        pytest.param(name, each, id=f"{name}-{fact}")
        for name in FILLED
        for fact, each in BACKENDS[name].stack.items()
        if isinstance(each, kind)
    ]


#: Layouts of 8 GPUs and 16 sequences, of which the first that a target runs is taken.
LAYOUTS = [
    Layout(tp=tp, dp_shard=8 // tp, zero=zero, microbatches=2 * tp)
    for tp, zero in ((2, 1), (2, 2), (2, 3), (1, 2), (1, 3))
]
said_facts = pytest.mark.parametrize(("target", "said"), declared(Said))


def plan_of(target: str, said: Said, value: Any = None) -> Plan:
    """A plan on 8 GPUs, the same layout for all values; the default of the fact unless a value is given."""
    layout = next(each for each in LAYOUTS if _takes(target, said, each))
    return _planned(target, said, value, layout)


def _takes(target: str, said: Said, layout: Layout) -> bool:
    """Whether the target runs the layout, with both values."""
    plans = [_planned(target, said, value, layout) for value in (None, said.value)]
    domains = BACKENDS[target].target.domains(plans[0].job)
    inside = layout.tp in domains.get("tp", (1,)) and layout.zero in domains["zero"]
    return inside and not any(
        problems(plan.job, BACKENDS[target].target, plan.layout) for plan in plans
    )


def _planned(target: str, said: Said, value: Any, layout: Layout) -> Plan:
    train = {"seq_len": 4096, "global_batch": 16, "steps": 10_000, **(said.job or {})}
    options = {**(said.block or {})}
    if value is not None:
        (train if said.of_train else options)[said.name] = value
    block = BACKENDS[target].target.options(**options)
    wanted = Train.model_validate(train)
    return sample_plans.sample_plan(target, block, layout=layout, train=wanted)


def emitted(plan: Plan) -> dict[str, str]:
    return BACKENDS[plan.target].emit(plan)


def lost(files: dict[str, str]) -> set[str]:
    """Settings of the files that an import hands back."""
    (config,) = read_jobs(files)
    return {setting.name for setting in unexpressed(config)}


def read(target: str, said: Said, files: dict[str, str]) -> Any:
    """What the reader makes of the files; the default where it says nothing."""
    (config,) = read_jobs(files)
    backend = BACKENDS[target]
    block = Train if said.of_train else backend.target.options
    reader = backend.reader.train if said.of_train else backend.reader.options
    return reader(config).get(said.name, block.model_fields[said.name].default)


def linted(files: dict[str, str], job: Job) -> list[Diagnostic]:
    options = LintOptions(job=job, ignore=SOLVED)
    return [
        each.diagnostic for judged in lint_texts(files, options, {}) for each in judged.findings
    ]


def price(plan: Plan) -> tuple[float, float]:
    """Seconds of a step, and bytes of the fullest GPU."""
    layout = {name: getattr(plan.layout, name) for name in ("tp", "zero", "dp_shard")}
    found = estimate(plan.job, BACKENDS[plan.target].target, layout)
    return found.step_seconds, found.memory_bytes


@pytest.mark.parametrize("target", FILLED)
def test_every_fact_is_declared(target: str) -> None:
    assert set(BACKENDS[target].stack) == set(FACTS)


@pytest.mark.parametrize(("target", "fixed"), declared(Fixed))
def test_what_no_job_can_say_has_a_source(target: str, fixed: Fixed) -> None:
    assert fixed.always and fixed.source


@said_facts
def test_the_job_is_taken(target: str, said: Said) -> None:
    for value in (None, said.value):
        assert BACKENDS[target].target.refuses(plan_of(target, said, value).job) == []


@said_facts
def test_exactly_one_of_two_jobs_files_has_the_word(target: str, said: Said) -> None:
    plain, other = (emitted(plan_of(target, said, value)) for value in (None, said.value))
    written = [any(said.written in text for text in files.values()) for files in (plain, other)]
    assert sorted(written) == [False, True]


@said_facts
def test_both_are_read_back(target: str, said: Said) -> None:
    plain, other = (emitted(plan_of(target, said, value)) for value in (None, said.value))
    assert read(target, said, other) == said.value
    assert read(target, said, plain) != said.value
    assert lost(other) <= lost(plain)


@said_facts
def test_lint_sees_files_of_the_other_job(target: str, said: Said) -> None:
    plans = [plan_of(target, said), plan_of(target, said, said.value)]
    for plan, other in (plans, plans[::-1]):
        assert [str(each) for each in linted(emitted(plan), plan.job)] == []
        found = linted(emitted(plan), other.job)
        assert len(found) == (said.notable or other is plans[1])
        assert all(each.code == DRIFT and said.setting in each.message for each in found)


@said_facts
def test_the_price_differs_or_the_reason_is_given(target: str, said: Said) -> None:
    differs = price(plan_of(target, said)) != price(plan_of(target, said, said.value))
    assert differs == said.priced
    assert said.priced != bool(said.why)
