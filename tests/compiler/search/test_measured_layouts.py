"""What ran decides among the best predictions, and only there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest

import parc
from parc.compiler.plan import Plan
from parc.compiler.search.measured_layouts import entry
from parc.compiler.variables import ORDER
from parc.dsl.diagnostics import JobError
from parc.dsl.job import Job
from parc.printing.choice_text import choice, expected_lines
from parc.printing.words.layouts import layout_text
from parc.report.choice import choice as sentences
from tests.support.searched_once import searched_once

JOB = """\
model llama3_8b from std.llama3_8b {{}}
cluster pod from std.h100_pod {{ nodes = 4; measured = [{measured}] }}
train {{ seq_len = {seq_len}; global_batch = 128; steps = 1000 }}
{goal}
target megatron {{}}
"""
#: A goal that weighs memory itself, so that no headroom decides between what ran.
ANY_ROOM = "goal { prefer memory <= 100% }"


def job(folder: Path, *measured: str, goal: str = ANY_ROOM, seq_len: int = 4096) -> Job:
    texts = ", ".join(f'"{text}"' for text in measured)
    (folder / "job.par").write_text(JOB.format(measured=texts, goal=goal, seq_len=seq_len))
    with chdir(folder):  # the job is one and the same in whichever folder
        return parc.load("job.par")


def planned(folder: Path, *measured: str, goal: str = ANY_ROOM, seq_len: int = 4096) -> Plan:
    return parc.compile(job(folder, *measured, goal=goal, seq_len=seq_len))[0]


def said(folder: Path, plan: Plan, ratio: float) -> str:
    layout = {name: getattr(plan.layout, name) for name in ORDER}
    return entry(job(folder), "megatron", layout, ratio)


@pytest.fixture(autouse=True, scope="module")
def _searched_once() -> Iterator[None]:
    with searched_once():
        yield


@pytest.fixture
def best(tmp_path: Path) -> Plan:
    return planned(tmp_path)


@pytest.fixture
def rival(tmp_path: Path, best: Plan) -> Plan:
    """The best plan of another tensor-parallel degree."""
    return planned(tmp_path, goal=f"goal {{ forbid tp == {best.layout.tp} }}")


def test_a_layout_that_ran_slower_than_another_is_not_chosen(
    tmp_path: Path, best: Plan, rival: Plan
) -> None:
    assert best.measured is None
    runs = [said(tmp_path, best, 1.12), said(tmp_path, rival, 0.97)]
    found = planned(tmp_path, *runs)
    assert found.layout.tp == rival.layout.tp
    assert found.measured is not None and found.measured.layouts == 2
    assert found.best is not None and found.best.layout == best.layout
    assert found.measured.best == pytest.approx(0.12, abs=1e-3)
    assert f"than predicted; {layout_text(best.layout)}, predicted" in sentences(found)


def test_one_run_that_is_off_says_nothing_of_the_order(tmp_path: Path, best: Plan) -> None:
    """What a single run takes beyond its prediction may be what all layouts take."""
    assert planned(tmp_path, said(tmp_path, best, 1.15)).layout == best.layout


def test_layouts_that_split_alike_share_what_was_measured(
    tmp_path: Path, best: Plan, rival: Plan
) -> None:
    """A neighbour of a slow layout that never ran is not taken for fast."""
    runs = [said(tmp_path, best, 1.2), said(tmp_path, rival, 1.0)]
    assert planned(tmp_path, *runs).layout.tp != best.layout.tp


def test_runs_make_the_choice_surer(tmp_path: Path, best: Plan, rival: Plan) -> None:
    runs = [said(tmp_path, best, 1.0), said(tmp_path, rival, 1.08)]
    surer = planned(tmp_path, *runs)
    assert surer.layout == best.layout
    assert best.doubt is not None and surer.doubt is not None
    assert surer.doubt.chance > best.doubt.chance and surer.doubt.regret < best.doubt.regret


def test_a_preference_counts_beside_runs(tmp_path: Path, best: Plan) -> None:
    """Within the margin the preferred layout wins, as it does without runs."""
    goal = "goal { within = 20%; prefer pp == 2 }"
    assert planned(tmp_path, goal=goal).layout.pp == 2
    assert planned(tmp_path, said(tmp_path, best, 1.0), goal=goal).layout.pp == 2


def test_runs_of_another_job_or_for_another_goal_choose_nothing(
    tmp_path: Path, best: Plan, rival: Plan
) -> None:
    runs = [said(tmp_path, best, 1.12), said(tmp_path, rival, 0.97)]
    longer = planned(tmp_path, *runs, seq_len=8192)
    assert longer.measured is not None and longer.measured.layouts == 0
    assert longer.measured.chosen is None and "ran" not in "\n".join(choice(longer))
    without = planned(tmp_path, seq_len=8192)
    assert (longer.layout, longer.best) == (without.layout, without.best)
    small = planned(tmp_path, *runs, goal="goal { minimize memory }")
    assert small.layout == planned(tmp_path, goal="goal { minimize memory }").layout


def test_what_ran_tells_what_a_step_takes(tmp_path: Path, best: Plan, rival: Plan) -> None:
    """Of the layout itself all, of others the less the more they differ, of other targets nothing."""
    slow = said(tmp_path, best, 1.12)
    itself = planned(tmp_path, slow)
    other = planned(tmp_path, slow, goal=f"goal {{ require tp == {rival.layout.tp} }}")
    assert itself.layout == best.layout and other.layout == rival.layout
    assert itself.measured is not None and other.measured is not None
    assert itself.measured.expected == itself.measured.chosen == pytest.approx(0.12, abs=1e-3)
    assert 0 < other.measured.expected < 0.06
    predicted = best.estimate.step_seconds
    line = " ".join(" ".join(expected_lines(predicted, itself.measured)).split())
    taken = predicted * (1 + itself.measured.expected)
    assert line.startswith("runs by 1 run on this cluster a step takes ")
    assert line.endswith(f"takes {taken:.1f} s, 12.0% longer than predicted")
    assert itself.estimate == best.estimate
    elsewhere = planned(tmp_path, slow.replace("megatron", "torchtitan"))
    assert elsewhere.measured is None and expected_lines(predicted, None) == []


def test_runs_of_another_job_tell_what_a_step_takes(tmp_path: Path, best: Plan) -> None:
    found = planned(tmp_path, said(tmp_path, best, 0.9), seq_len=8192)
    assert found.measured is not None and found.measured.runs == 1
    assert -0.1 < found.measured.expected < 0


SITE = """\
gpu site_gpu from std.h100_sxm {{ matmul_efficiency = 0.6 }}
cluster site from std.dgx_h100 {{ gpu = site_gpu; measured = ["{measured}"] }}
cluster spare from site {{ price = 2 $/h }}
gpu lean from site_gpu {{ reserve = 3 GiB }}
gpu lent from std.h100_sxm {{ reserve = 3 GiB }}
"""


@pytest.mark.parametrize(
    ("gpu", "kept"),
    [
        ("", 1),
        ("; gpu = site_gpu", 1),
        ("; gpu = lean", 1),
        ("; gpu = lent", 0),
        ("; gpu = std.h200", 0),
    ],
)
def test_what_ran_on_another_gpu_is_left_behind(
    tmp_path: Path, best: Plan, gpu: str, kept: int
) -> None:
    (tmp_path / "site.par").write_text(SITE.format(measured=said(tmp_path, best, 1.1)))
    text = JOB.format(measured="", goal="", seq_len=4096)
    own = "cluster pod from std.h100_pod { nodes = 4; measured = [] }"
    assert own in text
    path = tmp_path / "other.par"
    path.write_text(
        'import "site.par"\n' + text.replace(own, f"cluster pod from spare {{ nodes = 4{gpu} }}")
    )
    assert len(parc.load(path).cluster.measured) == kept
    assert len(parc.load(path, ["cluster.gpu=std.h200"]).cluster.measured) == 0
    assert len(parc.load(path, ["cluster.gpu.memory=60GiB"]).cluster.measured) == kept


@pytest.mark.parametrize(
    "text",
    [
        "",
        "megatron 0: tp=2",
        "megatron 0: tp=2 took fast",
        "megatron 0: tp=2 took nan",
        "megatron 0: tp=2 took 0",
        "megatron 0: tp=2 took 1e9",
        "megatron 0: tq=2 took 1",
        "megatron 0: tp=two took 1",
        "megatron 0: tp=2,, took 1",
        "megatron 0: tp=0 took 1",
        "megatron 0: nodes=0 took 1",
        "megatron 0: zero=4 took 1",
        f"megatron 0: tp={'9' * 5000} took 1",
    ],
)
def test_a_text_that_is_no_layout_is_named(tmp_path: Path, text: str) -> None:
    with pytest.raises(JobError) as found:
        planned(tmp_path, text)
    (complaint,) = found.value.diagnostics
    assert complaint.code == "PAR156" and complaint.span is not None
    assert "measured" in complaint.span.source.line(complaint.span.line)


def test_what_is_written_is_read_back(tmp_path: Path, rival: Plan) -> None:
    found = planned(tmp_path, said(tmp_path, rival, 0.5))
    assert found.layout == rival.layout or found.measured is not None
    assert found.measured is not None and found.measured.layouts == 1
