"""`parc sweep`: its rows are the plans of `parc plan --set`, and nothing that was solved is lost."""

from __future__ import annotations

import csv
import errno
import io
import itertools
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import parc
from parc.dsl.diagnostics import JobError
from parc.printing import sweep_report
from parc.printing.sweep_report import Report
from parc.sweep.front import SIGNS, Front
from parc.sweep.grid import Grid, overrides, read_grid
from parc.sweep.results import NAME, results_of
from parc.sweep.solver_processes import solve_in_processes
from tests.cli.test_commands import terminal_output
from tests.support.command_line import JOB, Parc

OVER = ("--over", "cluster.nodes=1,2", "--over", "train.global_batch=64,7,32")
#: Divides over no replicas of two nodes, and needs more than there are.
COMMAND = ("sweep", "job.par", *OVER)
HEAD = {"parc": "0", "job": "j", "targets": ["megatron"]}


def rows(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()[1:]]


def points(text: str) -> Any:
    return json.loads(text)["points"]


def test_a_grid_is_all_combinations_the_last_axis_fastest() -> None:
    grid = read_grid(["a.b=1,{2, 3}", 'c="x,y",(1, 2),z', "d = 5"])
    assert [axis.values for axis in grid.axes] == [
        ("1", "{2, 3}"),
        ('"x,y"', "(1, 2)", "z"),
        ("5",),
    ]
    whole = [grid.at(index) for index in range(len(grid))]
    product = itertools.product(*(axis.values for axis in grid.axes))
    assert [tuple(point.values()) for point in whole] == list(product)
    assert [grid.index(point) for point in whole] == list(range(6))
    assert grid.index({"a.b": "1"}) is None and grid.index({**whole[0], "d": "6"}) is None
    assert overrides(whole[1]) == ["a.b=1", "c=(1, 2)", "d=5"]


@pytest.mark.parametrize(
    ("over", "code", "said"),
    [
        ("cluster.nodes", "PAR175", "not of the form"),
        ("cluster.nodes=", "PAR175", "not of the form"),
        ("cluster.nodes=1,,2", "PAR175", "is empty"),
        ("cluster.nodes=1,2,1", "PAR175", "takes `1` twice"),
        ("cluster.nods=1,2", "PAR011", "did you mean `nodes`?"),
        ("nodes=1,2", "PAR011", "unknown constant"),
        ("cluster.nodes=1,two", "PAR011", "unknown name `two`"),
        ("train.seq_len=1 GiB", "PAR013", "--over:1:15"),
        ("cluster.nodes=" + ",".join(map(str, range(1, 1_000_002))), "PAR175", "at most 1,000,000"),
    ],
    ids=range(9),
)
def test_a_grid_that_cannot_be_is_refused_at_its_place(
    run: Parc, over: str, code: str, said: str
) -> None:
    ran = run("sweep", "job.par", "--over", over, "-o", "kept")
    assert ran.code == 2 and code in ran.err and said in ran.err
    assert not Path("kept").exists()


def test_a_path_is_swept_once(run: Parc) -> None:
    ran = run("sweep", "job.par", "--over", "cluster.nodes=1", "--over", "cluster.nodes=2")
    assert ran.code == 2 and "--over:2:1" in ran.err and "swept twice" in ran.err


def test_rows_are_the_plans_of_the_job_with_these_settings(run: Parc) -> None:
    ran = run(*COMMAND, "--json", "--processes", "2")
    found = points(ran.out)
    assert ran.code == 0 and len(found) == 6
    for point in found:
        sets = [f"--set={path}={value}" for path, value in point["over"].items()]
        planned = json.loads(run("plan", "job.par", "--json", *sets).out)
        assert [plan["target"] for plan in point["plans"]] == [
            plan["target"] for plan in planned["plans"]
        ]
        for swept, plan in zip(point["plans"], planned["plans"], strict=True):
            of_job = {"gpu", "precision", "peak_flops"}
            same = {*swept} - {"proof", "layout", "nodes", "front"} - of_job
            peak = {"precision": swept["precision"], "flops": swept["peak_flops"]}
            assert planned["job"]["peak"] == peak
            assert {name: swept[name] for name in same} == {name: plan[name] for name in same}
            assert swept["layout"].items() <= plan["layout"].items()
            assert swept["proof"] == plan["proof"]["status"]
        assert [each["code"] for each in point["refused"]] == [
            each["code"] for each in planned["refused"]
        ]
    table = list(csv.DictReader(io.StringIO(run(*COMMAND, "--csv", "--processes", "1").out)))
    assert [
        (line["cluster.nodes"], line["train.global_batch"], line["target"]) for line in table
    ] == [
        (*point["over"].values(), each["target"])
        for point in found
        for each in (*point["plans"], *point["refused"])
    ]
    days = [float(line["days"]) for line in table if line["days"]]
    assert days == [plan["days"] for point in found for plan in point["plans"]]


def test_all_points_are_of_the_job_as_it_was_when_the_sweep_began(
    run: Parc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody edits the file after the first point is loaded."""
    file = Path("job.par")
    before = json.loads(run(*COMMAND, "--json").out)
    load = parc.load

    def edited(path: str, sets: list[str]) -> Any:
        job = load(path, sets)
        file.write_text("model nothing {}\n")
        return job

    monkeypatch.setattr(parc, "load", edited)
    assert json.loads(run(*COMMAND, "--json").out) == before
    assert file.read_text() == "model nothing {}\n"


def test_what_has_no_plan_is_a_row_with_its_reason(run: Parc) -> None:
    ran = run("sweep", "job.par", "--over", "model.heads=8,7", "--target", "megatron")
    assert (
        ran.code == 0 and ran.err == "" and "2 points of model.heads, 1 without a plan" in ran.out
    )
    assert any(line.split()[:2] == ["7", "PAR030:"] for line in ran.out.splitlines())
    ran = run("sweep", "impossible.par", "--over", "cluster.nodes=1,2")
    assert ran.code == 1 and "no point has a plan" in ran.out


def test_only_what_lacks_is_solved(run: Parc) -> None:
    """Rows that are there are kept as they are, also those of points outside of the grid."""
    first = run(*COMMAND, "--json", "-o", "kept")
    kept = Path("kept") / NAME
    lines = kept.read_text().splitlines(keepends=True)
    kept.write_text("".join(lines[:4]) + lines[4][:50])
    again = run(*COMMAND, "--json", "-o", "kept")
    assert again.out == first.out
    assert (
        kept.read_text().splitlines(keepends=True)[:4] == lines[:4]
        and len(rows(kept.read_text())) == 6
    )
    before = kept.read_text()
    assert run(*COMMAND, "--json", "-o", "kept").out == first.out and kept.read_text() == before
    wider = run("sweep", "job.par", "--over", "cluster.nodes=1,2", "--over",
                "train.global_batch=64,16", "-o", "kept", "--json")  # fmt: skip
    assert kept.read_text().startswith(before) and len(rows(kept.read_text())) == 8
    assert len(points(wider.out)) == 4


def test_the_points_of_another_sweep_are_neither_mixed_in_nor_lost(run: Parc) -> None:
    small = ("--over", "cluster.nodes=1", "--target", "megatron", "-o", "kept")
    assert run("sweep", "job.par", *small).code == 0
    kept = Path("kept") / NAME
    before = kept.read_bytes()
    changed = run("sweep", "job.par", *small, "--set", "train.seq_len=512")
    assert changed.code == 2 and "PAR176" in changed.err and "the job differs" in changed.err
    targets = run("sweep", "job.par", *small, "--target", "torchtitan")
    assert targets.code == 2 and "its targets differ" in targets.err
    assert kept.read_bytes() == before
    assert run("sweep", "job.par", *small, "--set", "train.seq_len=512", "--force").code == 0
    assert kept.read_bytes() != before
    kept.write_text("my notes\n")
    foreign = run("sweep", "job.par", *small, "--force")
    assert foreign.code == 2 and "PAR091" in foreign.err and kept.read_text() == "my notes\n"


def test_a_folder_that_cannot_be_is_told(run: Parc) -> None:
    Path("file").write_text("")
    ran = run("sweep", "job.par", "--over", "cluster.nodes=1", "-o", "file/kept")
    assert ran.code == 2 and "PAR090" in ran.err and "is a file" in ran.err


def test_a_folder_has_one_sweep_at_a_time(run: Parc) -> None:
    head = {"parc": parc.__version__, "job": parc.load("job.par").digest, "targets": ["megatron"]}
    with results_of(read_grid(["cluster.nodes=1"]), head, Path("kept")):
        ran = run(
            "sweep", "job.par", "--over", "cluster.nodes=1", "--target", "megatron", "-o", "kept"
        )
    assert ran.code == 2 and "PAR085" in ran.err


def started(*more: str, limit: Callable[[], None] | None = None) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "parc", *COMMAND, "-o", "kept", "--json", *more]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, preexec_fn=limit)


def test_a_full_disk_ends_the_sweep_and_loses_nothing(run: Parc) -> None:
    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    process = started(limit=small_files)
    _, err = process.communicate(timeout=300)
    kept = (Path("kept") / NAME).read_text()
    done = len(rows(kept))
    assert process.returncode == 2 and 0 < done < 6 and kept.endswith("\n")
    assert "PAR090" in err and f"its {done} points stay" in err and "file too large" in err
    assert run(*COMMAND, "-o", "kept").code == 0
    assert (Path("kept") / NAME).read_text().startswith(kept)


def test_a_full_disk_prints_what_no_folder_keeps(
    run: Parc, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full:
        """The disk once the head and two points are written."""

        left = 3

        def __call__(self, number: int, content: bytes, place: int) -> int:
            self.left -= 1
            if self.left < 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            return pwrite(number, content, place)

    pwrite = os.pwrite
    monkeypatch.setattr(os, "pwrite", Full())
    ran = run(*COMMAND, "--processes", "1", "--json")
    assert ran.code == 2 and len(points(ran.out)) == 2
    assert "PAR090" in ran.err and "-o DIR" in ran.err and "stay" not in ran.err
    full = Full()
    full.left = 0
    monkeypatch.setattr(os, "pwrite", full)
    ran = run(*COMMAND)
    assert ran.code == 2 and ran.out == "" and "cannot write a temporary file" in ran.err


def test_rows_that_somebody_edited_are_solved_again(run: Parc) -> None:
    whole = run(*COMMAND, "--json", "-o", "kept").out
    kept = Path("kept") / NAME
    head, *lines = kept.read_text().splitlines()
    first = json.loads(lines[0])
    plan = first["plans"][0]
    for row in (
        {**first, "plans": [], "refused": []},
        {**first, "plans": [{**plan, "mfu": None}]},
        {**first, "plans": [{**plan, "days": float("nan")}]},
        {**first, "plans": [{**plan, "layout": {"tp2": 8}}]},
        {**first, "plans": [{**plan, "layout": 8}]},
        {**first, "plans": [{"target": "megatron"}]},
        {**first, "plans": [plan["target"]]},
        {**first, "plans": 5},
        {**first, "refused": [{"code": "PAR151"}]},
        {key: value for key, value in first.items() if key != "plans"},
    ):
        kept.write_text("\n".join([head, json.dumps(row), *lines[1:], ""]))
        again = run(*COMMAND, "--json", "-o", "kept")
        assert (again.code, again.out) == (0, whole), row


def test_an_interrupted_sweep_keeps_and_prints_what_is_done(run: Parc) -> None:
    process = started("--processes", "1")
    kept = Path("kept") / NAME
    limit = time.monotonic() + 300
    while (
        not kept.exists() or len(kept.read_text().splitlines()) < 2
    ) and time.monotonic() < limit:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    done = len(rows(kept.read_text()))
    assert process.returncode == 130 and "Traceback" not in err
    assert f"interrupted\n{done} of 6 points are solved and kept in kept" in err
    assert 0 < done < 6 and len(points(out)) == done
    assert run(*COMMAND, "--json", "-o", "kept").out == run(*COMMAND, "--json").out


class Killing:
    """A job at whose sight a process ends."""

    def __init__(self, flag: Path | None = None):
        self.flag = flag

    def __reduce__(self) -> Any:
        return _die, (self.flag,)


def _die(flag: Path | None) -> Any:
    """Ends the process, with a flag only the first."""
    if flag is None or not flag.exists():
        if flag is not None:
            flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return parc.load("job.par")


def test_a_killed_process_costs_no_other_point(run: Parc) -> None:
    tasks: list[Any] = [(0, Killing()), (1, Killing(Path("once"))), (2, parc.load("job.par"))]
    found = dict(solve_in_processes(tasks, ["megatron"], 2))
    lost: Any = found[0]["refused"]
    (reason,) = lost
    assert reason["code"] == "PAR178" and "killed 2 times" in reason["message"]
    assert found[1]["plans"] == found[2]["plans"] != []


def test_what_failed_by_chance_is_solved_again(tmp_path: Path) -> None:
    grid = read_grid(["a=1,2"])
    for code, kept in (("PAR178", False), ("PAR030", True)):
        reason = {"target": "megatron", "code": code, "message": "m"}
        with results_of(grid, HEAD, tmp_path / code) as results:
            results.add(1, {"plans": [], "refused": [reason]})
        with results_of(grid, HEAD, tmp_path / code) as results:
            assert (1 in results) == kept and 0 not in results


def test_the_front_is_what_nothing_is_better_than() -> None:
    draw = random.Random(7)
    plans = [{name: draw.randrange(6) for name in SIGNS} for _ in range(300)]
    for names in (list(SIGNS), ["days", "cost"], ["mfu"]):
        front = Front(names)
        for number, plan in enumerate(plans):
            front.add(number, plan)
        signed = [[SIGNS[name] * plan[name] for name in names] for plan in plans]
        best = {
            number
            for number, own in enumerate(signed)
            if not any(
                other != own and all(a <= b for a, b in zip(other, own, strict=True))
                for other in signed
            )
        }
        assert front.keys == best


def test_the_front_weighs_what_is_asked_for(run: Parc) -> None:
    ran = run(*COMMAND, "--front", "cost")
    assert ran.code == 2 and "PAR179" in ran.err
    with_price = (*COMMAND, "--set", "cluster.price=2 $/h", "--front", "cost", "--json")
    plans = [plan for point in points(run(*with_price).out) for plan in point["plans"]]
    cheapest = min(plan["cost"] for plan in plans)
    assert cheapest > 0
    assert [plan["front"] for plan in plans] == [plan["cost"] == cheapest for plan in plans]
    assert run(*COMMAND, "--front", "beauty").code == 2


def test_many_points_take_little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """10,000 rows of a thousand bytes, their front and their CSV."""
    job = tmp_path / "job.par"
    job.write_text(JOB)
    grid = Grid(read_grid([f"{name}=" + ",".join(map(str, range(10))) for name in "abcd"]).axes)
    number: dict[str, object] = {"days": 1, "gpus": 1, "energy_joules": 1, "mfu": 0.1}
    kind = {"gpu": "h100", "peak_flops": 1e15}
    loaded = parc.load(job)
    with (
        open(os.devnull, "w") as nothing,
        results_of(grid, HEAD, tmp_path / "kept") as results,
    ):
        monkeypatch.setattr(sys, "stdout", nothing)
        tracemalloc.start()
        for point in range(len(grid)):
            plan = {
                **number,
                **kind,
                "target": "megatron",
                "days": point,
                "padding": "x" * 800,
                "layout": {},
            }
            results.add(point, {"plans": [plan], "refused": []})
        sweep_report.print_csv(Report(loaded, grid, ["megatron"], results, list(number)))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert (tmp_path / "kept" / NAME).stat().st_size > 9e6
    assert peak < 1e6


def test_a_terminal_shows_how_far_it_is(run: Parc) -> None:
    text = terminal_output("sweep", "job.par", "--over", "cluster.nodes=1", "--target", "megatron")
    assert "0/1" in text and "1 points" in text


def test_results_cannot_be_of_a_link(tmp_path: Path) -> None:
    (tmp_path / NAME).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(JobError, match="PAR090"), results_of(read_grid(["a=1"]), HEAD, tmp_path):
        pass
    assert not (tmp_path / "elsewhere").exists()
