"""parc trials: what is written, what it is expected to tell, and the plan after its runs."""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parc
from parc.__main__ import main
from parc.calibrate.trials import STEPS, Prior, after, chosen, short_job, trials
from parc.compiler.plan import Layout
from parc.compiler.search import best_first
from parc.compiler.search.space import Space
from parc.compiler.search.sweep import Swept
from parc.dsl.expression import VALUES
from tests.support.searched_once import searched_once
from tests.support.simulated_logs import Ran, log_text, noisy

JOB = """\
model llama3_8b from std.llama3_8b {}
cluster pod from std.h100_pod { nodes = 4 }
train { seq_len = 4096; global_batch = 128; steps = 1000; weights = "/models/llama" }
goal { require zero <= 1 }
target megatron { data = synthetic; eval_interval = 5; wandb = "llm"; profile_start = 100 }
launch slurm { time = 1 h; requeue = 3 }
"""
#: Milliseconds of steps without a steady time.
WILD = cycle((900.0, 2900.0, 1700.0))
RunTrials = Callable[..., dict[str, Any]]


@pytest.fixture(autouse=True, scope="module")
def _priced_once() -> Iterator[None]:
    """A job is searched once, and its space is priced by the first test that asks for its trials."""
    known: dict[tuple[bytes, str], Swept] = {}

    def explored(space: Space) -> Swept:
        key = (pickle.dumps(space.case.job), space.case.target.name)
        if key not in known:
            known[key] = best_first.explored(space)
        return known[key]

    with searched_once(), pytest.MonkeyPatch.context() as patch:
        patch.setattr("parc.calibrate.trials.explored", explored)
        yield


@pytest.fixture
def written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> RunTrials:
    """Runs the command in a folder with job.par."""
    monkeypatch.chdir(tmp_path)
    Path("job.par").write_text(JOB)

    def call(*arguments: str) -> dict[str, Any]:
        assert main(["trials", "job.par", "-o", "trials", "--json", *arguments]) == 0
        document: dict[str, Any] = json.loads(capfd.readouterr().out)
        return document

    return call


def ran(number: int, seconds: float) -> None:
    """A log of the trial, in whose steady state a step takes so long."""
    layout = json.loads(Path("trials/trials.json").read_text())["trials"][number - 1]["layout"]
    degrees = ",".join(f"{name}={value}" for name, value in layout.items() if name != "nodes")
    times = noisy(seconds, 0.002, number, 18)
    text = log_text(Ran("megatron", degrees, 32), times)
    Path(f"trials/trial-{number}/run.log").write_text(text)


def test_a_trial_is_short_and_leaves_nothing(written: RunTrials) -> None:
    found = written("-n", "2")
    assert [each["layout"]["nodes"] for each in found["trials"]] == [4, 4]
    for number in (1, 2):
        script = Path(f"trials/trial-{number}/megatron/pretrain.sh").read_text()
        assert f"--train-iters {STEPS} " in script and "--log-interval 1\n" in script
        assert "--save=" not in script and "--load=" not in script
        assert "--wandb" not in script and "--profile" not in script
        assert os.access(f"trials/trial-{number}/megatron/pretrain.sh", os.X_OK)
        batch = Path(f"trials/trial-{number}/slurm/megatron.sbatch").read_text()
        assert "#SBATCH --no-requeue" in batch and "--signal" not in batch
    array = Path("trials/trials.sbatch").read_text()
    assert "#SBATCH --array=1-2%1" in array and "#SBATCH --nodes=4" in array
    for script in ("run.sh", "trials.sbatch"):
        subprocess.run(["bash", "-n", f"trials/{script}"], check=True)


def test_what_is_printed_can_be_copied(
    written: RunTrials, capfd: pytest.CaptureFixture[str]
) -> None:
    """Into a shell that stands where the command ran; of folders with blanks and of this one."""
    Path("it's job.par").write_text(JOB)
    assert main(["trials", "it's job.par", "-n", "1", "-o", "try outs/it's"]) == 0
    *_, start, calibrate = capfd.readouterr().out.splitlines()
    script = start.split("    or    ")[0].strip()
    told = subprocess.run(["bash", "-c", f"ls {script}"], capture_output=True, text=True)
    assert told.stdout == "try outs/it's/run.sh\n", told.stderr
    words = f"printf '%s\\n' {calibrate.removeprefix('  parc ')}"
    given = subprocess.run(["bash", "-c", words], capture_output=True, text=True).stdout
    assert given.splitlines()[1:4] == ["try outs/it's", "--job", "it's job.par"]
    Path("empty").mkdir()
    os.chdir("empty")
    assert main(["trials", "../job.par", "-n", "1", "-o", "."]) == 0
    assert "\n  ./run.sh    or" in capfd.readouterr().out


@pytest.mark.parametrize("target", ["megatron", "torchtitan", "deepspeed"])
def test_the_short_job_of_every_target_compiles(target: str, tmp_path: Path) -> None:
    path = tmp_path / "job.par"
    path.write_text(JOB.replace("target megatron", f"target {target}"))
    short = short_job(parc.load(path), target)
    assert short.train.total_steps == STEPS and short.train.weights is None
    (plan,) = parc.compile(short)
    assert plan.estimate.layout.zero <= 1


def test_the_first_trial_is_the_plan_and_others_differ(tmp_path: Path) -> None:
    path = tmp_path / "job.par"
    path.write_text(JOB)
    found = trials(parc.compile(parc.load(path))[0], 4)
    layouts = [plan.layout for plan in found.plans]
    assert layouts[0] == found.plan.layout
    assert len(set(layouts)) == 4
    assert 0 <= found.regret_after < found.regret_before
    assert found.seconds == pytest.approx(
        sum(STEPS * plan.estimate.step_seconds for plan in found.plans)
    )


def test_the_same_job_gives_the_same_trials(tmp_path: Path) -> None:
    path = tmp_path / "job.par"
    path.write_text(JOB)
    one, other = (trials(parc.compile(parc.load(path))[0], 3) for _ in range(2))
    assert [plan.layout for plan in one.plans] == [plan.layout for plan in other.plans]


def test_a_run_script_runs_all_and_tells_of_one_that_fails(written: RunTrials) -> None:
    written("-n", "3")
    for number in (1, 2, 3):
        script = Path(f"trials/trial-{number}/megatron/pretrain.sh")
        script.write_text(f'echo "run $PARC_OUT $1"; exit {int(number == 2)}\n')
    ended = subprocess.run(["trials/run.sh", "more"], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "trial-2: failed" in ended.stderr and "trial-3: ran" in ended.stdout
    assert (
        Path("trials/trial-3/run.log").read_text()
        == f"run {Path('trials/trial-3').absolute()} more\n"
    )


def test_the_plan_after_the_trials_is_what_ran_best(
    written: RunTrials, capfd: pytest.CaptureFixture[str]
) -> None:
    found = written("-n", "3")
    predicted = [each["step_seconds"] for each in found["trials"]]
    for number, slower in ((1, 1.12), (2, 1.0), (3, 1.1)):
        ran(number, predicted[number - 1] * slower)
    assert main(["calibrate", "trials", "--job", "job.par", "-o", "site.par"]) == 0
    after_them = JOB.replace("from std.h100_pod", "from site")
    Path("job.par").write_text(f'import "site.par"\n{after_them}')
    (plan,) = parc.compile(parc.load("job.par"))
    words = {name: VALUES.get(name, {}).get(value, value)
             for name, value in found["trials"][1]["layout"].items()}  # fmt: skip
    assert plan.layout == Layout(**words)
    assert plan.measured is not None and plan.measured.layouts == 3
    assert main(["plan", "job.par", "-v"]) == 0
    text = capfd.readouterr().out
    assert "3 layouts of this job ran; this one took" in text


def test_trials_of_a_job_that_imports_what_they_calibrated_count_again(
    written: RunTrials, capfd: pytest.CaptureFixture[str]
) -> None:
    written("-n", "2")
    ran(1, 5.0)
    ran(2, 5.5)
    again = ["calibrate", "trials", "--job", "job.par", "-o", "site.par", "--json"]
    assert main(again) == 0
    Path("job.par").write_text('import "site.par"\n' + JOB.replace("std.h100_pod", "site"))
    capfd.readouterr()
    assert main(again) == 0
    assert len(json.loads(capfd.readouterr().out)["runs"]) == 2
    Path("job.par").rename("other.par")
    assert main(["calibrate", "trials", "-o", "site.par"]) == 2
    assert "`trials` has no job" in capfd.readouterr().err


def test_a_trial_that_stopped_is_left_out_by_name(
    written: RunTrials, capfd: pytest.CaptureFixture[str]
) -> None:
    found = written("-n", "3")
    ran(1, found["trials"][0]["step_seconds"])
    ran(3, found["trials"][2]["step_seconds"])
    Path("trials/trial-2/run.log").write_text("torch.OutOfMemoryError: CUDA out of memory.\n")
    assert main(["calibrate", "trials", "--job", "job.par", "-o", "site.par"]) == 0
    captured = capfd.readouterr()
    assert "trials/trial-2" in captured.err and "is left out" in captured.err
    assert "2 runs, 2 different" in captured.out


@pytest.mark.parametrize("broken", ["", "{", '{"trials": [{}]}', '{"trials": [{"layout": 1}]}'])
def test_folders_that_hold_no_trials_are_named(
    broken: str, written: RunTrials, capfd: pytest.CaptureFixture[str]
) -> None:
    written("-n", "2")
    assert main(["calibrate", "trials", "--job", "job.par", "-o", "site.par"]) != 0
    assert "none of its trials has run" in capfd.readouterr().err
    Path("trials/trials.json").write_text(broken)
    assert main(["calibrate", "trials", "--job", "job.par", "-o", "site.par"]) != 0
    assert "is not what `parc trials` writes" in capfd.readouterr().err
    assert not Path("site.par").exists()


def test_nothing_that_someone_else_wrote_is_replaced(written: RunTrials) -> None:
    Path("trials").mkdir()
    Path("trials/run.sh").write_text("mine\n")
    assert main(["trials", "job.par", "-o", "trials"]) != 0
    assert Path("trials/run.sh").read_text() == "mine\n"
    assert not Path("trials/trial-1").exists()


def test_what_somebody_edited_is_replaced_by_force_alone(
    written: RunTrials, capfd: pytest.CaptureFixture[str]
) -> None:
    written("-n", "2")
    script = Path("trials/trial-1/megatron/pretrain.sh")
    before = script.read_text()
    script.write_text(f"{before}# mine\n")
    assert main(["trials", "job.par", "-n", "2", "-o", "trials"]) == 2
    assert "--force" in capfd.readouterr().err and script.read_text().endswith("# mine\n")
    written("-n", "2", "--force")
    assert script.read_text() == before


@pytest.mark.parametrize("count", ["0", "17", "-1", "x", "1.5"])
def test_a_count_that_is_none_is_refused(count: str, written: RunTrials) -> None:
    with pytest.raises(SystemExit):
        written("-n", count)
    assert not Path("trials").exists()


def test_a_run_tells_of_its_kind() -> None:
    """Two kinds of two layouts each: a slow run of one kind moves the other of its kind, not the others."""
    kind = np.kron(np.eye(2), np.ones((2, 2)))
    known = Prior(np.array([0.0, 0.01, 0.02, 0.03]), 0.03**2 * kind + 0.02**2 * np.eye(4))
    moved = after(known, [0], np.array([0.1])) - known.mean
    assert moved[0] > moved[1] > 0.03 and moved[2] == moved[3] == 0
    picked = chosen(known, np.zeros(4, dtype=bool), 4)
    assert picked.places[0] == 0 and picked.places[1] in (2, 3)
    assert list(picked.regrets) == sorted(picked.regrets, reverse=True)
    assert picked.regrets[-1] < 0.002
    assert 0 not in chosen(known, np.array([True, False, False, False]), 2).places


@pytest.mark.parametrize(
    ("log", "says"),
    [
        ("", "has no run*.log, or empty ones"),
        (None, "has no run*.log, or empty ones"),
        ("torch.OutOfMemoryError: CUDA out of memory.\n", "report a step"),
        ("early", "reports 4 steps, too few"),
        ("wild", "they have no steady time"),
        ("other", "but is given with"),
    ],
)
def test_tasks_of_an_array_that_failed_are_left_out_by_name(
    log: str | None, says: str, written: RunTrials, capfd: pytest.CaptureFixture[str]
) -> None:
    """Empty, never started, out of memory at once or after some steps, disturbed, or of earlier trials."""
    found = written("-n", "3")
    for number in (1, 2, 3):
        ran(number, found["trials"][number - 1]["step_seconds"])
    path = Path("trials/trial-2/run.log")
    text = path.read_text()
    changed = {
        "early": "".join(
            line for line in text.splitlines(True) if not re.search(r" {5,}[5-9]0/| \d{3}/", line)
        ),
        "wild": re.sub(r"\(ms\): [\d.]+", lambda _: f"(ms): {next(WILD)}", text),
        "other": Path("trials/trial-1/run.log").read_text(),
    }
    path.unlink() if log is None else path.write_text(changed.get(log, log))
    assert main(["calibrate", "trials", "--job", "job.par", "-o", "site.par"]) == 0
    captured = capfd.readouterr()
    assert says in captured.err and "`trials/trial-2` is left out" in captured.err
    assert ("run it again while nothing else runs" in captured.err) is (log == "wild")
    assert "2 runs, 2 different" in captured.out
    for number in (1, 3):
        Path(f"trials/trial-{number}/run.log").write_text("")
    path.write_text("")
    assert main(["calibrate", "trials", "--job", "job.par", "-o", "none.par"]) == 2
    assert "3 of 3 logs cannot be used" in capfd.readouterr().err and not Path("none.par").exists()


def test_one_node_of_a_trial_may_have_an_empty_log(
    written: RunTrials, capfd: pytest.CaptureFixture[str]
) -> None:
    found = written("-n", "2")
    for number in (1, 2):
        ran(number, found["trials"][number - 1]["step_seconds"])
    Path("trials/trial-1/run-1.log").write_text("")
    assert main(["calibrate", "trials", "--job", "job.par", "-o", "site.par"]) == 0
    assert "left out" not in capfd.readouterr().err


def test_a_job_without_a_layout_has_no_trials(
    written: RunTrials, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("job.par").write_text(JOB.replace("zero <= 1", "zero <= 1 and tp == 3"))
    assert main(["trials", "job.par", "-o", "trials"]) == main(["plan", "job.par"]) == 1
    assert "no layout meets" in capfd.readouterr().err and not Path("trials").exists()


def test_when_all_ran_nothing_is_written(
    written: RunTrials, capfd: pytest.CaptureFixture[str]
) -> None:
    one = "tp == 2 and pp == 1 and cp == 1 and micro_batch == 1 and recompute == none and dp_shard == 16"
    Path("job.par").write_text(JOB.replace("zero <= 1", f"zero == 1 and {one}"))
    found = written("-n", "2")
    assert len(found["trials"]) == 1
    ran(1, found["trials"][0]["step_seconds"])
    assert main(["calibrate", "trials", "--job", "job.par", "-o", "site.par"]) == 0
    after_it = Path("job.par").read_text().replace("from std.h100_pod", "from site")
    Path("job.par").write_text(f'import "site.par"\n{after_it}')
    assert main(["trials", "job.par", "-o", "more"]) == 1
    assert "PAR797" in capfd.readouterr().err and not Path("more").exists()
