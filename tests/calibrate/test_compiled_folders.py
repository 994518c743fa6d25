"""parc calibrate: a folder that `parc compile` wrote, with its logs, has its job and its layout."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from parc.__main__ import main
from parc.calibrate.compiled_folder import layout_of
from parc.compiler.variables import ORDER
from tests.support.simulated_logs import (
    JOB,
    RUNS,
    TRUE,
    job_of,
    log_text,
    noisy,
    seconds_of,
)

NAMES = ("tp1", "tp2", "zero3")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def compiled_folders(names: tuple[str, ...] = NAMES, text: str = JOB) -> list[str]:
    """A folder each with a plan.json of the job beside it, and a log in it."""
    Path("pod.par").write_text(text)
    for seed, name in enumerate(names):
        run = RUNS[name]
        job = job_of(run, Path(), text, "pod.par")
        Path(name).mkdir()
        layout = {**run.layout.model_dump(), "recompute": run.layout.recompute}
        plans = [{"target": run.target, "layout": layout}]
        told = {"name": "pod", "file": "pod.par", "sha256": job.digest}
        (Path(name) / "plan.json").write_text(json.dumps({"job": told, "plans": plans}))
        log = log_text(run, noisy(seconds_of(run, job, TRUE), 0.01, seed), {})
        (Path(name) / "run.log").write_text(log)
    return list(names)


def parameters(*logs: str, capfd: pytest.CaptureFixture[str]) -> object:
    assert main(["calibrate", *logs, "-o", "site.par", "--json", "--force"]) == 0
    found: dict[str, object] = json.loads(capfd.readouterr().out)
    return found["parameters"]


def test_a_folder_needs_no_job(here: None, capfd: pytest.CaptureFixture[str]) -> None:
    """Its own, beside it, is that of the same logs with the job named."""
    folders = compiled_folders()
    pairs = [f"{each}/run.log=pod.par" for each in folders]
    assert parameters(*folders, capfd=capfd) == parameters(*pairs, capfd=capfd)
    assert parameters(*folders, "--job", "pod.par", capfd=capfd) == parameters(*pairs, capfd=capfd)


def test_the_layout_is_that_of_the_plan_whose_framework_wrote_the_log(here: None) -> None:
    compiled_folders(("tp2",))
    file = Path("tp2/plan.json")
    told = json.loads(file.read_text())
    other = {**told["plans"][0], "target": "torchtitan"}
    other["layout"] = {**other["layout"], "tp": 8, "recompute": "full"}
    told["plans"] = [other, *told["plans"]]
    file.write_text(json.dumps(told))
    degrees = RUNS["tp2"].layout.model_dump()
    assert degrees["tp"] == 2 and layout_of("tp2") == {name: degrees[name] for name in ORDER}


def test_a_folder_of_another_text_is_refused_by_name(
    here: None, capfd: pytest.CaptureFixture[str]
) -> None:
    folders = compiled_folders()
    Path("pod.par").write_text(JOB.replace("4096", "8192"))
    assert main(["calibrate", *folders, "-o", "site.par"]) != 0
    said = capfd.readouterr().err
    assert "`tp1` was compiled from none of pod.par" in said and "tp1=JOB.par" in said
    Path("pod.par").unlink()
    assert main(["calibrate", *folders, "-o", "site.par"]) != 0
    assert "the job of `tp1` is not beside it" in capfd.readouterr().err
    assert not Path("site.par").exists()


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"job": 1, "plans": []}', '{"job": {"file": "pod.par"}, "plans": 3}', "\x00"],
)
def test_a_broken_plan_is_named(text: str, here: None, capfd: pytest.CaptureFixture[str]) -> None:
    compiled_folders(("tp1",))
    Path("tp1/plan.json").write_text(text)
    assert main(["calibrate", "tp1", "-o", "site.par"]) != 0
    said = capfd.readouterr().err
    assert "`tp1/plan.json` is not what `parc compile` writes" in said and "Traceback" not in said
