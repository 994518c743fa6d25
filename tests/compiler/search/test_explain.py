"""Jobs without a layout: the smallest set of conditions that clash is named, and what would help."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from parc.backends import BACKENDS
from parc.compiler import estimate, plan
from parc.compiler.case import Case
from parc.compiler.search.cp_sat_search import infeasible_core
from parc.compiler.search.space import Space
from parc.compiler.target import Predicate, Target
from parc.dsl import Diagnostic, JobError, loads
from parc.dsl.job import Goal, Job
from tests.support.solver_and_sweep import DENSE, Parts, answers, job_of, target_of

MEGATRON = BACKENDS["megatron"].target


def complaints(job: Job, target: Target | None = None) -> list[Diagnostic]:
    with pytest.raises(JobError) as error:
        plan(job, target or target_of(job))
    return list(error.value.diagnostics)


def only(job: Job, target: Target | None = None) -> Diagnostic:
    (complaint,) = complaints(job, target)
    return complaint


def without(job: Job, text: str) -> Job:
    kept = tuple(each for each in job.goal.constraints if each.text != text)
    assert len(kept) == len(job.goal.constraints) - 1
    return job.model_copy(update={"goal": Goal(job.goal.objectives, kept)})


#: Conditions of a goal, and those of them that clash; the others are innocent.
CLASHES = {
    "two": (
        ["require tp >= 4", "require pp <= 2", "forbid tp * pp > 2", "require memory <= 90%"],
        {"tp >= 4", "tp * pp > 2"},
    ),
    "two of degrees and a quantity": (
        ["require micro_batch == 1", "require pp == 8", "require bubble <= 1%"],
        {"pp == 8", "bubble <= 1%"},
    ),
    "three": (
        ["require tp >= 2", "require pp >= 2", "require zero <= 1", "require dp >= 8"],
        {"tp >= 2", "pp >= 2", "dp >= 8"},
    ),
    "one": (
        ["require pp >= 2", "require tp in {3, 5}", "require dp >= 2"],
        {"tp in {3, 5}"},
    ),
    "a pair among pairs": (
        [
            "require tp == 2",
            "require recompute == full",
            "require recompute_layers == 0",
            "forbid tp <= 4",
        ],
        {"tp == 2", "tp <= 4"},
    ),
}


@pytest.mark.parametrize("name", CLASHES)
def test_the_smallest_clashing_set(name: str) -> None:
    clauses, guilty = CLASHES[name]
    job = job_of("\n".join(clauses))
    found = infeasible_core(Space(Case(job, MEGATRON)))
    assert {each.text for each in found.constraints} == guilty
    assert not found.memory
    for text in guilty:
        assert answers(without(job, text)).solution is not None


@pytest.mark.parametrize("name", CLASHES)
def test_a_clash_shows_every_line(name: str) -> None:
    clauses, guilty = CLASHES[name]
    complaint = only(job_of("\n".join(clauses)))
    assert complaint.code == "PAR151"
    shown = [complaint.span, *(note.span for note in complaint.notes)]
    assert {span.text for span in shown if span} == guilty
    assert all(f"{text}`" in complaint.message for text in guilty)
    innocent = [clause for clause in clauses if not any(text in clause for text in guilty)]
    assert not any(clause.split(" ", 1)[1] in complaint.message for clause in innocent)
    assert complaint.help and complaint.help.startswith("without `")


def test_the_help_names_a_layout_that_exists() -> None:
    """Dropping the condition that costs most gives what the help says."""
    job = job_of("require tp >= 4\nforbid tp * pp > 2")
    help = only(job).help or ""
    best = min(
        (answers(without(job, text)) for text in ("tp >= 4", "tp * pp > 2")),
        key=lambda found: found.solution.value if found.solution else 0.0,
    )
    for name in ("tp", "pp"):
        assert f"{name} {best.layout[name]}" in help


def test_a_condition_that_only_memory_stands_against() -> None:
    job = job_of(
        "require tp * pp == 1\nrequire zero == 0\nrequire micro_batch == 1", memory="3.4 GiB"
    )
    found = infeasible_core(Space(Case(job, MEGATRON)))
    assert found.memory
    assert {each.text for each in found.constraints} == {"tp * pp == 1", "zero == 0"}
    complaint = only(job)
    assert "in the GPU's memory" in complaint.message
    assert complaint.notes[-1].message == "the GPU has 3.4 GiB"


def test_a_reason_is_quoted() -> None:
    complaint = only(job_of('require tp == 8\nrequire tp < 8 : "heads are few"'))
    assert "(heads are few)" in complaint.notes[0].message


def test_a_model_that_fits_nowhere_says_how_much_it_needs() -> None:
    complaint = only(job_of(memory="2100 MiB"))
    assert complaint.code == "PAR511"
    assert "needs" in complaint.message and "of 2.1 GiB" in complaint.message
    least = answers(job_of(memory="2100 MiB")).swept.prices.memory_kib.min() / 2**20
    assert f"needs {least:.1f} GiB" in complaint.message
    assert complaint.help and "nodes" in complaint.help


def test_conditions_are_not_blamed_for_a_model_that_fits_nowhere() -> None:
    assert only(job_of("require tp == 3", memory="2100 MiB")).code == "PAR511"


def impossible(name: str, of: tuple[str, ...]) -> Predicate:
    return Predicate(
        "PAR199", name, "never", of, lambda job, **columns: False, lambda job, **_: "never", "test"
    )


def test_the_rule_without_which_there_would_be_layouts() -> None:
    target = replace(MEGATRON, predicates=(*MEGATRON.predicates, impossible("no-tp", ("tp",))))
    complaint = only(job_of(), target)
    assert complaint.code == "PAR150"
    assert [note.message.split(" would")[0] for note in complaint.notes] == [
        "without PAR199 (no-tp) there",
        "nodes is 2",
        "heads is 16",
    ]


def test_a_general_rule_is_named_too() -> None:
    """Replicas that do not divide the batch, and nothing else to choose."""
    job = job_of(train={"seq_len": 2048, "global_batch": 20, "steps": 10})
    fixed: Mapping[str, tuple[int, ...]] = {"micro_batch": (1,)}
    complaint = only(job, replace(MEGATRON, domains=lambda job: fixed, predicates=()))
    assert complaint.code == "PAR150"
    assert ["PAR201" in note.message for note in complaint.notes] == [True, False]


def bound(name: str, of: str, holds: Callable[..., Any]) -> Predicate:
    return replace(impossible(name, (of,)), holds=holds)


def test_rules_that_clash_are_named_with_the_lines_that_they_relate() -> None:
    """tp 1, cp 1 and one replica leave no way to use 16 GPUs; each is said twice, so that none is to blame
    alone. The rule on ep is innocent."""
    twice = [
        (bound(f"{way}-tp", "tp", lambda job, tp: tp == 1),
         bound(f"{way}-cp", "cp", lambda job, cp: cp == 1),
         bound(f"{way}-dp", "dp", lambda job, dp: dp < 2))
        for way in ("one", "same")
    ]  # fmt: skip
    rules = (*twice[0], *twice[1], bound("no-ep", "ep", lambda job, ep: ep == 1))
    complaint = only(job_of(), replace(MEGATRON, predicates=(*MEGATRON.predicates, *rules)))
    notes = [note.message for note in complaint.notes]
    assert [note[:17] for note in notes[:3]] == [
        "PAR199 (one-tp), ",
        "PAR199 (one-cp), ",
        "PAR199 (one-dp), ",
    ]
    lines = {note.message.split(" is ")[0]: note.span for note in complaint.notes[3:]}
    assert lines.keys() == {"nodes", "seq_len", "heads"}
    assert lines["seq_len"] and "seq_len" in lines["seq_len"].text
    assert complaint.help and complaint.help.startswith("these rules clash; change one of")


@pytest.mark.parametrize("cluster", ["tpu_v5p_cube", "trn2_node"])
@pytest.mark.parametrize("target", BACKENDS)
def test_a_target_that_refuses_is_not_solved(cluster: str, target: str) -> None:
    text = (
        "model m from std.llama3_8b {}\n"
        f"cluster c from std.{cluster} {{}}\n"
        "train { seq_len = 2048; global_batch = 64; steps = 10 }\n"
        f"target {target} {{}}\n"
    )
    job = loads(text, "job.par", targets={target: BACKENDS[target].target.options})
    refusing = BACKENDS[target].target
    for call in (plan, partial(estimate, layout={"tp": 1})):
        with pytest.raises(JobError) as error:
            call(job, refusing)
        assert error.value.diagnostics[0].code == "PAR320"


#: A layout that cannot be estimated -> the codes and a part of each message.
WRONG = {
    "unknown": ({"tpp": 2}, [("PAR011", "unknown layout variable `tpp`")]),
    "unknown twice": ({"a": 2, "ddp": 1}, [("PAR011", "`a`"), ("PAR011", "`ddp`")]),
    "below": ({"tp": 0}, [("PAR018", "`tp` is 0, below 1")]),
    "negative": ({"zero": -1}, [("PAR018", "`zero` is -1, below 0")]),
    "world": (
        {"tp": 3},
        [("PAR101", "does not divide 16 GPUs"), ("PAR111", "heads 16 is not a multiple of tp 3")],
    ),
    "too many": ({"tp": 8, "pp": 4}, [("PAR101", "tp 8 * pp 4 * cp 1 = 32")]),
    "stages": ({"pp": 16}, [("PAR126", "pp 16 * vpp 1 = 16 virtual stages")]),
    "batch": ({"micro_batch": 3}, [("PAR201", "micro-batch 3 * dp 16 = 48")]),
    "dp": ({"tp": 2, "dp": 4}, [("PAR101", "`dp` is 4")]),
    "gpus": ({"gpus": 8}, [("PAR101", "`gpus` is 8")]),
    "shards that are left open": (
        {"zero": 3, "micro_batch": 3},
        [("PAR201", "micro-batch 3 * dp 16")],
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_layout_that_cannot_be_estimated(name: str) -> None:
    layout, expected = WRONG[name]
    with pytest.raises(JobError) as error:
        estimate(job_of(), MEGATRON, layout)
    found = [(each.code, each.message) for each in error.value.diagnostics]
    for code, part in expected:
        assert any(code == other and part in message for other, message in found), found


def test_help_for_a_mistyped_variable() -> None:
    with pytest.raises(JobError) as error:
        estimate(job_of(), MEGATRON, {"micro_batches": 2})
    assert error.value.diagnostics[0].help == "did you mean `microbatches`?"


@pytest.mark.parametrize(
    "layout",
    [{}, {"tp": 2}, {"tp": 2, "pp": 2, "micro_batch": 2}, {"zero": 3}, {"dp": 4, "pp": 4}],
    ids=str,
)
def test_an_estimate_keeps_what_is_given_and_fills_in_the_best(layout: dict[str, int]) -> None:
    found = estimate(job_of(), MEGATRON, layout).layout
    for name, value in layout.items():
        assert getattr(found, name) == value
    assert found.gpus == 16
    assert found.micro_batch * found.microbatches * found.dp == 16


def test_an_estimate_of_the_chosen_layout_is_the_plan() -> None:
    job = job_of()
    chosen = plan(job, MEGATRON)
    given = {
        name: value
        for name, value in chosen.layout.model_dump().items()
        if name not in ("dp_replicate", "microbatches")
    }
    assert estimate(job, MEGATRON, given) == chosen.estimate


def test_a_layout_that_does_not_fit_is_priced_all_the_same() -> None:
    job = job_of(memory="2200 MiB", model={**DENSE, "layers": 24})
    found = estimate(job, MEGATRON, {"zero": 0, "micro_batch": 1})
    assert found.memory_bytes > found.capacity_bytes


@pytest.mark.parametrize(
    ("goal", "parts", "code"),
    [
        ("", {"model": {**DENSE, "layers": 10_000, "hidden": 10**6, "ffn": 10**7}}, "PAR157"),
        ("", {"train": {"seq_len": 10**8, "global_batch": 10**8, "steps": 10**10}}, "PAR511"),
        ("", {"train": {"seq_len": 8192, "global_batch": 10**8, "steps": 1}}, "PAR153"),
        ("minimize bubble", {"cluster": {"nodes": 10**6}}, "PAR150"),
        ("minimize cost", {"model": {**DENSE, "experts": 10**7, "topk": 2}}, "PAR511"),
    ],
)
def test_absurd_sizes_end_in_a_complaint(goal: str, parts: Parts, code: str) -> None:
    for target in ("megatron", "torchtitan"):
        assert only(job_of(goal, **(parts | {"target": target}))).code == code
