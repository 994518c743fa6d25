"""`parc trace` as a user runs it: a trace that viewers read, whose times are the plan's, and clear errors."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from parc import api, load
from parc.kept_plan import compiled_estimate, kept_estimate
from tests.support.command_line import IMPOSSIBLE, JOB, Parc

LAYOUT = "--layout=tp=2,pp=4,dp_replicate=1,dp_shard=1,micro_batch=1,microbatches=64,nodes=1"


def traced(run: Parc, *more: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The trace and what the command says of it."""
    found = run("trace", "job.par", "-o", "trace.json", "--target", "megatron", "--json", *more)
    assert found.code == 0, found.err
    return json.loads(Path("trace.json").read_text()), json.loads(found.out)


def shown(trace: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for each in trace["traceEvents"] if each["ph"] == "X"]


@pytest.mark.parametrize("more", [(), (LAYOUT,), (LAYOUT, "--schedule", "gpipe")])
def test_events_of_a_lane_follow_each_other_until_the_step_ends(
    run: Parc, more: tuple[str, ...]
) -> None:
    trace, said = traced(run, *more)
    lanes = defaultdict(list)
    for event in shown(trace):
        assert event["dur"] > 0
        lanes[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    for lane in lanes.values():
        assert all(one[1] <= two[0] + 1e-6 for one, two in pairwise(lane))
    ends = {
        rank: max(lane[-1][1] for (pid, _), lane in lanes.items() if pid == rank)
        for rank, _ in lanes
    }
    assert set(ends) == set(range(4 if more else 1))
    assert all(end == pytest.approx(said["step_seconds"] * 1e6) for end in ends.values())


def test_a_rank_is_busy_or_in_a_bubble_all_the_step(run: Parc) -> None:
    trace, said = traced(run, LAYOUT)
    for rank in range(4):
        total = sum(event["dur"] for event in shown(trace) if event["pid"] == rank)
        assert total == pytest.approx(said["step_seconds"] * 1e6)


@pytest.mark.parametrize("more", [(), (LAYOUT,)])
def test_the_step_is_the_plans_but_for_the_schedule(run: Parc, more: tuple[str, ...]) -> None:
    """What the simulation changes is the time of passes, sends and bubble: a few per cent of the closed form;
    without a pipeline nothing."""
    _, said = traced(run, *more)
    apart = said["pipeline_seconds"] - said["pipeline_seconds_of_plan"]
    assert said["step_seconds"] - said["plan_step_seconds"] == pytest.approx(apart, abs=1e-9)
    assert abs(apart) <= (0.03 * said["pipeline_seconds_of_plan"] if more else 0)


def test_passes_bear_their_names_and_ranks_theirs(run: Parc) -> None:
    trace, _ = traced(run, LAYOUT + ",recompute=full")
    names = {event["name"] for event in shown(trace)}
    passes = {"forward", "backward", "recompute", "bubble", "tensor parallel"}
    sends = {"send activations", "send gradients"}
    assert passes | sends | {"optimizer"} <= names
    forward = [event["args"] for event in shown(trace) if event["name"] == "forward"]
    assert len(forward) == 4 * 64 and forward[:2] == [
        {"microbatch": 0, "chunk": 0},
        {"microbatch": 1, "chunk": 0},
    ]
    processes = [e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "process_name"]
    assert processes[0].endswith("embedding") and processes[-1].endswith("head")
    lanes = {e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"}
    assert lanes == {"compute", "collectives", "sends"}


def test_the_first_microbatches_are_those_of_the_whole_step(run: Parc) -> None:
    whole, _ = traced(run, LAYOUT)
    part, said = traced(run, LAYOUT, "--microbatches", "5")
    assert said["microbatches_shown"] == 5 and said["step_seconds"] is None

    def first(trace: dict[str, Any]) -> list[dict[str, Any]]:
        return [
            each for each in shown(trace) if each.get("args", {"microbatch": 5})["microbatch"] < 5
        ]

    assert first(part) == first(whole) and first(part)
    assert max(each["ts"] for each in shown(part)) < max(each["ts"] for each in shown(whole))


def test_the_text_says_what_is_shown(run: Parc) -> None:
    out = run("trace", "job.par", "-o", "t.json", "--target", "megatron", LAYOUT).out
    lines = out.splitlines()
    assert "64 of 64 micro-batches of a step of megatron" in " ".join(lines[:2])
    assert "simulated" in out and "ui.perfetto.dev" in out
    assert "4 pipeline ranks of 1 chunk\n" in out


def test_a_trace_is_written_over_one_and_over_nothing_else(run: Parc) -> None:
    traced(run, LAYOUT)
    traced(run, LAYOUT)
    Path("trace.json").write_text("mine")
    found = run("trace", "job.par", "-o", "trace.json", "--target", "megatron", LAYOUT)
    assert found.code == 2 and "PAR091" in found.err
    assert Path("trace.json").read_text() == "mine"
    traced(run, LAYOUT, "--force")


def test_a_long_trace_is_refused_with_a_number_that_fits(run: Parc) -> None:
    long = JOB.replace("global_batch = 64", "global_batch = 65536")
    Path("job.par").write_text(long)
    layout = LAYOUT.replace("microbatches=64", "microbatches=65536")
    found = run("trace", "job.par", "-o", "trace.json", "--target", "megatron", layout)
    assert found.code == 2 and "error[PAR189]" in found.err and not Path("trace.json").exists()
    assert "65,536 micro-batches on 4 ranks of 1 chunk have" in found.err
    fitting = found.err.split("--microbatches ")[1].split()[0]
    trace, _ = traced(run, layout, "--microbatches", fitting)
    assert 20_000 < len(shown(trace)) <= 100_000
    gpipe = run(
        "trace", "job.par", "-o", "t.json", layout, "--schedule", "gpipe", "--microbatches", "1"
    )
    assert gpipe.code == 2 and "PAR189" in gpipe.err and "fewer micro-batches" in gpipe.err


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["-o", ""], "the path is empty"),
        (["-o", "t.json", "--microbatches", "0"], "expected a number of micro-batches, not `0`"),
        (["-o", "t.json", "--schedule", "zero"], "invalid choice: 'zero'"),
        (["-o", "t.json", "--layout", "tp=two"], "`tp=two` is not NAME=VALUE"),
        ([], "-o/--output"),
    ],
)
def test_wrong_usage(run: Parc, given: list[str], message: str) -> None:
    found = run("trace", "job.par", *given)
    assert found.code == 2 and message in found.err


def test_what_has_no_plan_or_breaks_a_rule_has_no_trace(run: Parc) -> None:
    Path("none.par").write_text(IMPOSSIBLE)
    assert run("trace", "none.par", "-o", "t.json").code == 1
    broken = run("trace", "job.par", "-o", "t.json", "--target", "megatron", "--layout", "tp=3")
    assert broken.code == 2 and "error[PAR" in broken.err
    assert run("trace", "job.par", "-o", "nowhere/t.json").code == 2
    assert not Path("t.json").exists()


def test_a_plan_that_is_there_is_not_solved_again(
    run: Parc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same trace, byte for byte, of the best plan and of each target."""
    for target in ((), ("--target", "megatron"), ("--target", "torchtitan")):
        assert run("trace", "job.par", "-o", "solved.json", *target).code == 0
        assert run("compile", "job.par", "-o", "out", "--no-report").code == 0
        with monkeypatch.context() as patch:
            patch.setattr(api, "plan_targets", None)
            assert run("trace", "job.par", "-o", "out/trace.json", *target).code == 0
        assert Path("out/trace.json").read_bytes() == Path("solved.json").read_bytes()
        Path("solved.json").unlink()


def test_a_plan_in_the_usual_folder_is_not_solved_again(
    run: Parc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As this user's parc wrote it: a plan.json that a repository brings there is not read."""
    assert run("trace", "job.par", "-o", "solved.json").code == 0
    assert run("compile", "job.par", "-o", "out", "--no-report").code == 0
    with monkeypatch.context() as patch:
        patch.setattr(api, "plan_targets", None)
        assert run("trace", "job.par", "-o", "trace.json").code == 0
    assert Path("trace.json").read_bytes() == Path("solved.json").read_bytes()
    file = Path("out/plan.json")
    file.write_text(file.read_text() + "\n")
    assert kept_estimate(file.parent, load("job.par"), ["megatron"]) is not None
    assert compiled_estimate(load("job.par"), ["megatron"]) is None


@pytest.mark.parametrize("change", ["job", "release", "layout", "target", "rule", "shape", "none"])
def test_a_plan_of_something_else_is_not_taken(run: Parc, change: str) -> None:
    assert run("compile", "job.par", "-o", "out", "--no-report").code == 0
    job, file = load("job.par"), Path("out/plan.json")
    kept = json.loads(file.read_text())
    assert kept_estimate(file.parent, job, ["megatron"]) is not None
    if change == "job":
        job = load("job.par", ["train.seq_len=2048"])
    elif change == "release":
        kept["parc"] = "0.0.1"
    elif change == "layout":
        kept["plans"][0]["layout"] = {"tp": 1}
    elif change == "target":
        kept["plans"], kept["refused"] = kept["plans"][1:], []
    elif change == "rule":
        for plan in kept["plans"]:
            plan["layout"]["tp"] = 3
    elif change == "shape":
        kept = [kept]
    file.write_text(json.dumps(kept) if change != "none" else "{")
    assert kept_estimate(file.parent, job, ["megatron", "torchtitan"]) is None


def test_schedules_are_those_of_the_simulator() -> None:
    from parc.commands.trace import SCHEDULES
    from parc.compiler.schedule.orders import ORDERS, V_SHAPED

    assert tuple(name for name in ORDERS if name not in V_SHAPED) == SCHEDULES
