"""Training in stages: what each takes from `train`, its plan, the sums, and the folders of launch files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import parc
from parc.__main__ import main
from parc.checking import checked
from parc.dsl import JobError
from parc.staging import plan_stages

TEXT = """
let batch = 256
model tiny from std.llama3_8b {{}}
cluster box from std.dgx_h100 {{ nodes = 2; price = 2 $/h }}
train {{ seq_len = 4096; global_batch = batch * 4096 tokens; steps = 1000; learning_rate = 2e-4 }}
stage main {{ tokens = 100G }}
stage long {{ seq_len = 16384; {long} }}
goal {{ maximize mfu; require microbatches >= train.global_batch / 64 {goal} }}
target megatron {{ {options} }}
target torchtitan {{}}
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test names its job as the others do, so that they share what is searched for it."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def job(tmp_path: Path) -> Path:
    return written(tmp_path)


def written(folder: Path, long: str = "", goal: str = "", options: str = "") -> Path:
    path = folder / "job.par"
    path.write_text(TEXT.format(long=long, goal=goal, options=options))
    return Path(path.name)


def test_a_stage_takes_what_it_does_not_say_from_train(job: Path) -> None:
    main_stage, long = parc.load(job).stages
    assert (main_stage.stage, main_stage.name) == ("main", "job-main")
    assert (main_stage.train.seq_len, main_stage.train.global_batch) == (4096, 256)
    # its tokens stand for the steps of `train`
    assert (main_stage.train.tokens, main_stage.train.steps) == (10**11, None)
    # a batch in tokens has fewer of the longer sequences
    assert (long.train.seq_len, long.train.global_batch, long.train.steps) == (16384, 64, 1000)
    assert long.train.learning_rate == main_stage.train.learning_rate == 2e-4


def test_the_job_itself_is_what_its_first_stage_is(job: Path) -> None:
    whole = parc.load(job)
    assert whole.name == "job" and whole.train == whole.stages[0].train
    assert [stage.stages for stage in whole.stages] == [(), ()]


def test_set_changes_train_or_one_stage(job: Path) -> None:
    changes = ("train.learning_rate=1e-4", "train.seq_len=2048", "stage.long.steps=7")
    first, long = parc.load(job, changes).stages
    assert first.train.learning_rate == long.train.learning_rate == 1e-4
    assert (first.train.seq_len, long.train.seq_len) == (2048, 16384)
    assert (first.train.steps, long.train.steps) == (None, 7)


def test_each_stage_keeps_the_overrides(job: Path) -> None:
    given = ["train.learning_rate=1e-4"]
    found = parc.load(job, given)
    assert {each.overrides for each in (found, *found.stages)} == {tuple(given)}


def test_set_knows_the_stages_and_their_settings(job: Path) -> None:
    with pytest.raises(JobError, match="no stage `lng` to change"):
        parc.load(job, ("stage.lng.steps=7",))
    with pytest.raises(JobError, match="unknown setting `stps`"):
        parc.load(job, ("stage.long.stps=7",))


def test_conditions_are_of_each_stage(tmp_path: Path) -> None:
    """`train.global_batch` is another number in the second stage."""
    first, long = parc.load(written(tmp_path)).stages
    (_, ours), (_, theirs) = (
        (stage.stage, stage.goal.constraints[0].expression) for stage in (first, long)
    )
    assert ours != theirs


def test_the_plans_and_their_sum(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = written(tmp_path, goal="; require zero <= 1")
    staged = plan_stages(parc.load(job), ["megatron"])
    plans = staged.by_target()["megatron"]
    alone = [parc.compile(stage, ["megatron"])[0] for stage in parc.load(job).stages]
    assert [plan.layout for plan in plans] == [plan.layout for plan in alone]
    assert not any(plan.follows for plan in plans)
    assert main(["plan", str(job), "--target", "megatron", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [stage["stage"] for stage in found["stages"]] == ["main", "long"]
    for key, field in (("days", "days"), ("cost", "cost"), ("energy_joules", "energy_joules")):
        whole = sum(getattr(plan.estimate, field) for plan in alone)
        assert found["all"]["megatron"][key] == pytest.approx(whole, rel=1e-5)


def test_the_text_has_a_line_for_each_stage(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(job)]) == 0
    shown = capsys.readouterr().out
    assert "job-main  " in shown and "job-long  " in shown
    sums = shown[shown.index("2 stages, one after another") :]
    summed = sums.partition("\n\nnext: ")[0].splitlines()
    rows = [line.split()[0] for line in summed[2:] if line[:5].strip()]
    targets = ("megatron", "torchtitan")
    assert rows[:8] == [each for target in targets for each in (target, "main", "long", "all")]
    assert all(len(line) <= 80 for line in summed)


def test_one_stage_alone(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(job), "--stage", "long", "--target", "megatron"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("job-long  ") and "one after another" not in shown
    assert main(["plan", str(job), "--stage", "lon"]) != 0
    assert "did you mean `long`?" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        ["explain"],
        ["sweep", "--over", "batch=64,128"],
        ["estimate", "--layout", "tp=2"],
        ["trace", "-o", "x"],
    ],
    ids=lambda command: command[0],
)
def test_other_commands_want_one_stage(
    job: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command[0], str(job), *command[1:]]) != 0
    assert "PAR185" in capsys.readouterr().err


def test_the_library_wants_one_stage_too(job: Path) -> None:
    whole = parc.load(job)
    with pytest.raises(JobError, match="trained in stages, main, long"):
        parc.compile(whole)
    with pytest.raises(JobError, match="trained in stages"):
        parc.estimate(whole, {"tp": 2}, "megatron")


def test_each_stage_has_its_files_and_its_checkpoints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = written(tmp_path, goal="; require zero >= 2")
    out = tmp_path / "out"
    assert main(["compile", str(job), "-o", str(out)]) == 0
    assert "2 stages, one after another" in capsys.readouterr().out
    assert sorted(path.name for path in out.iterdir()) == ["long", "main"]
    folders: set[str] = set()
    for name in ("main", "long"):
        plan = json.loads((out / name / "plan.json").read_text())
        assert {each["target"] for each in plan["plans"]} == {"megatron", "torchtitan"}
        for target in ("megatron", "torchtitan"):
            told = json.loads((out / name / target / "run.json").read_text())
            assert told["run"] == f"job-{name}-{target}"
            folders.add(f"runs/{told['run']}-{told['digest']}")
        texts = [
            (out / name / path).read_text()
            for path in ("megatron/pretrain.sh", "torchtitan/launch.sh")
        ]
        assert all(any(folder in text for folder in folders) for text in texts)
    assert len(folders) == 4
    assert main(["compile", str(job), "-o", str(out), "--check"]) == 0


def test_a_stage_without_a_layout_stops_the_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job, out = written(tmp_path, goal="; require days <= 0.5 d"), tmp_path / "out"
    assert main(["compile", str(job), "-o", str(out)]) == 1
    assert "PAR151" in capsys.readouterr().err and not out.exists()
    assert main(["plan", str(job), "--target", "megatron"]) == 1
    assert "no target has a plan for each of them" in capsys.readouterr().out


def test_check_reads_every_stage(tmp_path: Path) -> None:
    assert not checked(str(written(tmp_path))).diagnostics
    bad = written(tmp_path, long="precision = nvfp4")
    (said,) = checked(str(bad)).diagnostics
    assert said.code == "PAR038" and said.span is not None and "nvfp4" in said.span.text


def test_files_of_each_stage_do_not_drift_from_the_job(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The files do not say their stage: an edit is told as the difference from the nearest one."""
    job = written(tmp_path, goal="; require zero >= 2")
    out = tmp_path / "out"
    assert main(["compile", str(job), "-o", str(out)]) == 0
    capsys.readouterr()
    assert main(["lint", str(out), "--spec", str(job)]) == 0
    assert capsys.readouterr().out.startswith("no findings: ")
    script = out / "long" / "megatron" / "pretrain.sh"
    script.write_text(
        script.read_text().replace("--global-batch-size 64", "--global-batch-size 128")
    )
    assert main(["lint", str(script), "--spec", str(job), "--format", "concise"]) == 1
    found = [line for line in capsys.readouterr().out.splitlines() if "PAR161" in line]
    assert len(found) == 1 and "global_batch 128, and the job has 64" in found[0]


def test_the_sums_say_of_which_peak_the_mfu_of_a_stage_is(tmp_path: Path) -> None:
    from parc.printing.stage_text import sum_lines

    lines = sum_lines(plan_stages(parc.load(written(tmp_path, long="precision = fp8"))))
    rows = [line for line in lines if line.startswith(("    main", "    long"))]
    assert len(rows) >= 2
    for row in rows:
        assert ("of fp8's 1,979 TFLOP/s" in row) == row.startswith("    long")


def test_one_command_starts_all_stages(
    job: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """That of the last stage, which submits those before; without SLURM one of each, in their order."""
    assert main(["plan", str(job)]) == 0
    assert f"next: parc compile {job} -o out\n" in capfd.readouterr().out
    for launch, wanted in (
        ("launch slurm { time = 1 h }", ["long/slurm/megatron-stages.sh"]),
        (
            'launch hosts { hostfile = "h" }',
            ["main/hosts/megatron.sh", "long/hosts/megatron.sh"],
        ),
    ):
        job.write_text(TEXT.format(long="", goal="; require zero <= 1", options="") + launch)
        out = tmp_path / launch.split()[1]
        assert main(["compile", str(job), "-o", str(out), "--target", "megatron"]) == 0
        printed = capfd.readouterr().out.splitlines()
        assert [line for line in printed if line.startswith("next:")] == [
            f"next: bash {out / each}" for each in wanted
        ]
