"""parc calibrate: a site's logs are of several jobs, and each is priced as the one that ran."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import parc
from parc.__main__ import main
from tests.support.calibrate_command import Calibrate, Calibrated
from tests.support.simulated_logs import (
    JOB,
    RUNS,
    TRUE,
    announced,
    job_of,
    log_text,
    noisy,
    record,
    seconds_of,
)

#: The job with another model.
SHORT = JOB.replace("std.llama3_8b {}", "std.llama3_8b { layers = 8 }")


def record_short(*names: str) -> list[str]:
    """short.par, and logs of it as its own entry scripts begin them."""
    for seed, name in enumerate(names):
        job = job_of(RUNS[name], Path(), SHORT, "short.par")
        times = noisy(seconds_of(RUNS[name], job, TRUE), 0.01, seed)
        text = log_text(RUNS[name], times, {"layers": 8})
        Path(f"short-{name}.log").write_text(announced(job, RUNS[name].target) + text)
    return [f"short-{name}.log" for name in names]


def paired(logs: list[str]) -> list[str]:
    return [f"{log}=short.par" for log in logs]


def same(one: Calibrated, other: Calibrated) -> bool:
    return bool(one.json["parameters"] == other.json["parameters"])


def test_logs_of_several_jobs_are_priced_each_as_its_own(calibrate: Calibrate) -> None:
    """Named in pairs, or found by what the logs say: their first line, else the sizes of the model."""
    logs, others = record(Path(), ["tp1", "wide"]), record_short("tp2", "fsdp", "zero3")
    found = calibrate(*logs, *others, "--job", "short.par", "--json")
    assert found.code == 0, found.err
    runs = found.json["runs"]
    assert [run["job"] for run in runs] == ["job.par"] * 2 + ["short.par"] * 3
    assert max(abs(run["error_after"]) for run in runs) < 0.03
    assert all(run["error_before"] < -0.05 for run in runs)
    for name in others:
        Path(name).write_text(Path(name).read_text().partition("\n")[2])
    assert same(found, calibrate(*logs, *others, "--job", "short.par", "--json"))
    assert same(found, calibrate(*logs, *paired(others), "--json"))
    text = calibrate(*logs, *others, "--job", "short.par").out
    assert re.search(r"\bjob\b.*\blayout", text) and text.count("short.par") >= 3
    assert "write in each job" in text


def test_the_file_of_several_jobs_is_imported_by_each(calibrate: Calibrate) -> None:
    logs, others = record(Path(), ["tp1", "tp2"]), record_short("tp1", "zero3")
    assert calibrate(*logs, *paired(others)).code == 0
    first = Path("site.par").read_text()
    for name, text in (("a.par", JOB), ("b.par", SHORT)):
        imported = text.replace("std.h100_pod", "site")
        Path(name).write_text(f'import "site.par"\n{imported}')
        layouts = {entry.split(":")[0] for entry in parc.load(name).cluster.measured}
        assert len(layouts) == 3
    again = calibrate(*logs, *(f"{log}=b.par" for log in others), job="a.par")
    assert again.code == 0 and "nothing to change; the jobs have its numbers" in again.out
    assert Path("site.par").read_text() == first


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("{ layers = 8 }", "is of a model with layers 8, the job's has 32"),
        ("{ window = 1024 }", "is of another job than job.par: model, precision"),
    ],
)
def test_a_log_of_another_job_is_refused_by_its_name(
    change: str, says: str, calibrate: Calibrate, capfd: pytest.CaptureFixture[str]
) -> None:
    """And with what to type, by explain too."""
    logs = record(Path(), ["tp1"])
    other = JOB.replace("std.llama3_8b {}", f"std.llama3_8b {change}")
    job = job_of(RUNS["tp2"], Path(), other, "other.par")
    layers = {"layers": 8} if "layers" in change else {}
    text = announced(job, "megatron") + log_text(RUNS["tp2"], [9.0] * 12, layers)
    Path("b.log").write_text(text)
    found = calibrate(*logs, "b.log")
    assert found.code == 2 and not Path("site.par").exists()
    assert re.search(r"PAR792.*`b.log`, run other-megatron-[0-9a-f]{8}, ", found.err)
    assert says in found.err and "`parc calibrate b.log=JOB.par ...`" in found.err
    assert calibrate(*logs, "b.log=other.par").code == 0
    assert main(["explain", "job.par", "--log", "b.log"]) == 2
    refused = capfd.readouterr().err
    assert says in refused and "`parc explain JOB.par --log b.log`" in refused


def test_what_takes_no_time_and_what_the_log_states_may_differ(calibrate: Calibrate) -> None:
    """Rates, seeds and weights of losses, and the batch, the length and `compile`."""
    changed = JOB.replace("{}", "{ rope_theta = 10000 }").replace("steps = 1000", "steps = 20")
    for name, job_text in (("long", changed), ("tp1", changed), ("fsdp", changed)):
        job = job_of(RUNS[name], Path(), job_text, "changed.par")
        times = noisy(seconds_of(RUNS[name], job, TRUE), 0.01, 1)
        text = announced(job, RUNS[name].target) + log_text(RUNS[name], times)
        if name == "fsdp":
            text = text.replace(
                "Applied FSDP", "Compiling each TransformerBlock with torch.compile\n"
            )
        Path(f"{name}.log").write_text(text)
    found = calibrate("long.log", "tp1.log", "fsdp.log")
    assert found.code == 0, found.err


def test_runs_of_two_jobs_in_one_log_are_told(calibrate: Calibrate) -> None:
    (short,) = record_short("tp2")
    own = parc.load("job.par")
    text = announced(own, "megatron") + Path(short).read_text()
    Path("both.log").write_text(text)
    found = calibrate("both.log")
    assert found.code == 2 and "PAR793" in found.err
    runs = r"job-megatron-\w{8} and short-megatron-\w{8}"
    assert re.search(f"`both.log` holds several runs: {runs}", found.err)


def test_a_log_that_may_be_of_several_jobs_asks_which(calibrate: Calibrate) -> None:
    """A step of 8 layers would be faster than the peak allows 32; one of 30 may be of either."""
    (log,) = record(Path(), ["zero3"])
    Path(log).write_text(re.sub(r" layers=.*", "", Path(log).read_text()))
    Path("near.par").write_text(SHORT.replace("layers = 8", "layers = 30"))
    found = calibrate(log, "--job", "near.par")
    assert found.code == 2 and "does not say which job ran, job.par or near.par" in found.err
    assert f"say it: {log}=JOB.par" in found.err and not Path("site.par").exists()
    assert calibrate(f"{log}=near.par").code == 0
    (log,) = record_short("zero3")
    Path(log).write_text(re.sub(r" layers=.*", "", Path(log).read_text().partition("\n")[2]))
    assert calibrate(log, "--job", "short.par", "--json").json["runs"][0]["job"] == "short.par"


def test_a_log_of_none_of_the_jobs(calibrate: Calibrate) -> None:
    record_short("tp1")
    Path("b.log").write_text(log_text(RUNS["tp1"], [1.0] * 12, {"layers": 12}))
    found = calibrate("b.log", "--job", "short.par")
    assert found.code == 2 and "`b.log` is of none of the jobs" in found.err
    assert "the job's has 32" in found.err and "the job's has 8" in found.err


def test_jobs_of_different_clusters_are_refused(calibrate: Calibrate) -> None:
    logs, others = record(Path(), ["tp1"]), record_short("tp1")
    text = (
        Path("short.par").read_text().replace("{ nodes = 1 }", "{ nodes = 1; network = 12 GB/s }")
    )
    Path("short.par").write_text(text)
    found = calibrate(*logs, *paired(others))
    assert found.code == 2 and "have other clusters: network" in found.err
    assert not Path("site.par").exists()


def test_a_log_without_a_job_is_told(
    calibrate: Calibrate, capfd: pytest.CaptureFixture[str]
) -> None:
    (log,) = record(Path(), ["tp1"])
    assert main(["calibrate", log, "-o", "site.par"]) == 2
    assert f"`{log}` has no job" in capfd.readouterr().err
    assert main(["calibrate", f"{log}=job.par", "-o", "site.par"]) == 0
    capfd.readouterr()
    assert main(["calibrate", f"{log}=none.par", "-o", "site.par"]) == 2
    assert "none.par" in capfd.readouterr().err
    Path("lr=1.par").write_bytes(Path(log).read_bytes())
    assert calibrate("lr=1.par").code == 0  # a log of that name


def test_parameters_that_torchtitan_counts_tell_another_model(calibrate: Calibrate) -> None:
    """Where its model's arguments were cut from the log."""
    (log,) = record(Path(), ["fsdp"])
    text = re.sub(r"^.*Building llama3 (?:.*\n)+?\}\n", "", Path(log).read_text(), flags=re.M)
    assert "n_layers" not in text and "8,030,261,248" in text
    Path(log).write_text(text)
    assert calibrate(log).code == 0
    Path(log).write_text(text.replace("8,030,261,248", "1,498,482,688"))
    found = calibrate(log, output="other.par")
    assert found.code == 2 and "1,498,482,688 parameters, the job's has 8,030," in found.err
