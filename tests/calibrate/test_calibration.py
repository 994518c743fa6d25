"""parc calibrate: parameters come back out of logs, and what cannot be told is said, not guessed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

import parc
from parc.calibrate.parameters import PARAMETERS, owner_of, with_settings
from parc.calibrate.setting_text import quantity_text
from parc.calibrate.site import FittedParameter, FittedSite
from parc.calibrate.site_file import definition_names, is_ours, prior, site_text
from parc.dsl.library import std_entries
from parc.dsl.schema import setting_types
from parc.dsl.standard import std_cluster, std_gpu
from tests.support import simulated_logs
from tests.support.calibrate_command import Calibrate
from tests.support.paths import ROOT
from tests.support.simulated_logs import JOB, RUNS, TRUE, log_text, noisy, true_seconds

#: Runs of the job's own targets.
OF_JOB = [name for name, run in RUNS.items() if f"target {run.target}" in JOB]


def record(*names: str, noise: float = 0.01, values: Mapping[str, float] = TRUE) -> list[str]:
    return simulated_logs.record(Path(), names, noise, values)


def test_the_parameters_come_back(calibrate: Calibrate) -> None:
    found = calibrate(*record(*OF_JOB), "--json")
    assert found.code == 0
    assert found.fitted("matmul_efficiency") == pytest.approx(0.53, rel=0.09)
    assert found.fitted("network_efficiency") == pytest.approx(0.60, rel=0.15)
    runs = found.json["runs"]
    assert max(abs(run["error_before"]) for run in runs) > 0.2
    assert max(abs(run["error_after"]) for run in runs) < 0.03
    assert {run["target"] for run in runs} == {"megatron", "torchtitan", "deepspeed"}
    assert all(run["filled"] == [] for run in runs)


def test_attention_comes_back_where_sequences_are_long(calibrate: Calibrate) -> None:
    values = {**TRUE, "attention_efficiency": 0.5}
    found = calibrate(*record("tp1", "tp2", "long", values=values, noise=0.002), "--json")
    assert found.fitted("attention_efficiency") == pytest.approx(0.5, rel=0.12)
    assert found.parameter("attention")["told"]


def test_what_runs_do_not_tell_stays_and_is_named(calibrate: Calibrate) -> None:
    """Runs of one node tell nothing of the network."""
    logs = record("tp1", "tp2")
    found = calibrate(*logs, "--json")
    assert found.code == 0
    network = found.parameter("network")
    assert not network["told"] and network["left"] > 0.95
    for setting in network["settings"].values():
        assert setting["fitted"] == pytest.approx(setting["before"], rel=0.1)
    text = calibrate(*logs).out
    told_nothing = next(line for line in text.splitlines() if "tell little of" in line)
    names = told_nothing.partition(": ")[2].split(", ")
    assert "network" in names and "products" not in names


def test_one_run_moves_what_is_usual_and_leaves_a_wide_band(calibrate: Calibrate) -> None:
    logs = record("tp1")
    Path("again.log").write_bytes(Path("tp1.log").read_bytes())
    one = calibrate(*logs, "--json")
    assert one.code == 0 and "PAR795" in one.err and Path("site.par").exists()
    assert abs(one.json["runs"][0]["error_after"]) < abs(one.json["runs"][0]["error_before"])
    same = calibrate(*logs, "again.log", "--json")
    assert same.json["parameters"] == one.json["parameters"]
    many = calibrate(*record(*OF_JOB), "--json")
    assert many.json["step_spread"] < one.json["step_spread"]


def test_the_file_works_where_it_is_imported(calibrate: Calibrate) -> None:
    """The job takes the file up; its predictions are the calibrated ones, and a second calibration agrees."""
    logs = record("tp1", "tp2", "spread")
    assert calibrate(*logs).code == 0
    first = Path("site.par").read_text()
    Path("new.par").write_text('import "site.par"\n' + JOB.replace("std.h100_pod", "site"))
    job = parc.load("new.par")
    report = calibrate(*logs, "--json")
    old = parc.load("job.par")
    fitted = {name for each in PARAMETERS for name in each.settings}
    for name in fitted - {"fp4_efficiency"}:  # a rate that the GPU lacks
        owner = job.cluster if owner_of(name) == "cluster" else job.cluster.gpu
        assert getattr(owner, name) == report.fitted(name)
    same = {"name", "step_spread", "before", *fitted}
    assert job.cluster.gpu.model_dump(exclude=same) == old.cluster.gpu.model_dump(exclude=same)
    assert job.cluster.gpu.step_spread == report.json["step_spread"]
    again = calibrate(*logs, job="new.par")
    assert again.code == 0 and "nothing to change; the job has its numbers" in again.out
    assert Path("site.par").read_text() == first
    layout = {
        "tp": 1,
        "zero": 1,
        "dp_shard": 8,
        "recompute": 1,
        "recompute_layers": 0,
        "micro_batch": 1,
    }
    estimate = parc.estimate(job, layout, RUNS["tp1"].target)
    run = report.json["runs"][0]
    priced = run["step_seconds"] * (1 + run["error_after"])
    assert estimate.step_seconds == pytest.approx(priced, rel=1e-5)


@pytest.mark.parametrize("stem", ["from", "8x h100", "_", "Größe", "a--b"])
def test_a_file_of_any_name_can_be_imported(stem: str, calibrate: Calibrate) -> None:
    found = calibrate(*record("tp1"), output=f"{stem}.par")
    assert found.code == 0
    name, _ = definition_names([parc.load("job.par")], f"{stem}.par")
    text = f'import "{stem}.par"\n' + JOB.replace("std.h100_pod", name)
    Path("new.par").write_text(text)
    assert parc.load("new.par").cluster.measured


def test_a_figure_that_is_fitted_to_its_default_keeps_what_it_was(calibrate: Calibrate) -> None:
    """Else the next calibration would begin at the default."""
    own = JOB.replace("{ nodes = 1 }", "{ nodes = 1; host_time = 1.3 }")
    Path("own.par").write_text(own)
    job = parc.load("own.par")
    name, number = "host_time", [each.name for each in PARAMETERS].index("host")
    fitted = with_settings(job.cluster, {name: 1.0})
    host = FittedParameter(PARAMETERS[number], {name: 1.3}, {name: 1.0}, std=0.1, left=0.2)
    text = site_text([job], FittedSite(fitted, (host,), 0.1, ()), "site.par", [])
    Path("site.par").write_text(text)
    Path("new.par").write_text('import "site.par"\n' + JOB.replace("std.h100_pod", "site"))
    assert prior(parc.load("new.par"))[name] == 1.3


def test_a_gpu_and_cluster_of_ones_own_are_written_out(calibrate: Calibrate) -> None:
    own = """
gpu mine {
  arch = "sm90"; memory = 81000 MiB; memory_bandwidth = 3.1 TB/s; bf16 = 800 TFLOP/s; nvlink = 333.3 GB/s
  power = 650 W; pcie = 55 GB/s; nvlink_latency = 1.5 us; reserve = 3 GiB; matmul_efficiency = 0.7; sms = 120
  kernel_launch = 5.5 us
}
cluster site { gpu = mine; nodes = 1; gpus_per_node = 8; network = 37 GB/s; price = 1.99 $/h; cpu_cores = 33 }
"""
    Path("own.par").write_text(own + JOB.replace("cluster pod from std.h100_pod { nodes = 1 }", ""))
    logs = record("tp1", "tp2", "long")
    assert calibrate(*logs, job="own.par").code == 0
    assert "from std." not in Path("site.par").read_text()
    imported = 'import "site.par"\n' + JOB.replace("std.h100_pod", "site_cluster")
    Path("new.par").write_text(imported)
    new, old = parc.load("new.par").cluster, parc.load("own.par").cluster
    fitted = {name for each in PARAMETERS for name in each.settings}
    fitted |= {"name", "step_spread", "before", "measured"}
    assert new.gpu.model_dump(exclude=fitted) == old.gpu.model_dump(exclude=fitted)
    assert new.gpu.kernel_launch != old.gpu.kernel_launch
    fitted.add("gpu")
    assert new.model_dump(exclude=fitted) == old.model_dump(exclude=fitted)


def test_every_number_of_the_library_is_written_as_it_is(tmp_path: Path) -> None:
    for entry in std_entries():
        if entry.kind == "model":
            continue
        value = std_gpu(entry.name) if entry.kind == "gpu" else std_cluster(entry.name)
        for key, rule in setting_types(type(value)).items():
            number = getattr(value, key)
            if isinstance(number, float) and str(rule.dimension) != "1":
                assert read_back(quantity_text(str(rule.dimension), number)) == number


def read_back(text: str) -> float:
    from parc.dsl.diagnostics import Source, Span
    from parc.dsl.units import measure

    return float(measure(text, Span(Source("", text), 0, len(text))).value)


def test_the_page_names_what_is_fitted() -> None:
    page = (ROOT / "docs" / "calibrate.md").read_text()
    rows = [row for row in page.splitlines() if row.startswith("| ") and row.endswith(" |")]
    for each in PARAMETERS:
        settings = ", ".join(f"`{name}`" for name in each.settings)
        assert f"| {each.name} | {settings} | {each.prior_std:g} |" in rows


def test_runs_of_one_layout_that_disagree_widen_the_band(calibrate: Calibrate) -> None:
    logs = record("tp1", "tp2", "wide")
    agreed = calibrate(*logs, "--json")
    seconds = 1.6 * true_seconds(RUNS["tp1"], Path(), TRUE)
    Path("slow.log").write_text(log_text(RUNS["tp1"], noisy(seconds, 0.01, 7)))
    found = calibrate(*logs, "slow.log", "--json")
    assert found.code == 0 and "PAR796" in found.err and Path("site.par").exists()
    assert "`tp1.log` and `slow.log` ran the same layout" in found.err
    assert found.json["step_spread"] > agreed.json["step_spread"]


def test_noise_is_no_contradiction(calibrate: Calibrate) -> None:
    logs = record("tp1", "tp2")
    seconds = 1.03 * true_seconds(RUNS["tp1"], Path(), TRUE)
    Path("again.log").write_text(log_text(RUNS["tp1"], noisy(seconds, 0.01, 7)))
    assert calibrate(*logs, "again.log").code == 0


def test_a_run_that_fits_no_such_cluster_is_outvoted(calibrate: Calibrate) -> None:
    """tp 1 takes twice as long as any cluster would that ran the others as fast."""
    others = ("tp2", "stages", "wide", "fsdp", "zero3")
    logs = record(*others)
    without = calibrate(*logs, "--json")
    seconds = 2.0 * true_seconds(RUNS["tp1"], Path(), TRUE)
    Path("odd.log").write_text(log_text(RUNS["tp1"], noisy(seconds, 0.01, 3)))
    found = calibrate(*logs, "odd.log", "--json")
    assert found.code == 0 and "PAR796" in found.err and "`odd.log`" in found.err
    assert found.err.count("PAR796") == 1
    for one, two in zip(without.json["runs"], found.json["runs"], strict=False):
        assert abs(two["error_after"]) < abs(one["error_before"])
    assert found.json["step_spread"] > without.json["step_spread"]


def test_only_its_own_file_is_replaced(calibrate: Calibrate) -> None:
    logs = record("tp1", "tp2")
    Path("site.par").write_text("# my notes\n")
    found = calibrate(*logs)
    assert found.code == 2 and "PAR091" in found.err
    assert Path("site.par").read_text() == "# my notes\n"
    assert calibrate(*logs, "--force").code == 0
    text = Path("site.par").read_text()
    assert is_ours(text) and calibrate(*logs).code == 0
    Path("site.par").write_text(text + "# edited\n")
    assert calibrate(*logs).code == 2 and Path("site.par").read_text().endswith("# edited\n")


def test_a_failed_calibration_keeps_the_old_file(calibrate: Calibrate) -> None:
    logs = record("tp1", "tp2")
    assert calibrate(*logs).code == 0
    before = Path("site.par").read_bytes()
    assert calibrate(*logs, "none.log").code == 2 and Path("site.par").read_bytes() == before


@pytest.mark.parametrize("output", ["nowhere/site.par", "."])
def test_where_it_cannot_write_it_says_so(calibrate: Calibrate, output: str) -> None:
    found = calibrate(*record("tp1", "tp2"), output=output)
    assert found.code == 2 and "PAR090" in found.err


def test_a_name_that_is_no_name_still_gives_a_file(calibrate: Calibrate) -> None:
    Path("3rd").mkdir()
    found = calibrate(*record("tp1", "tp2"), output="3rd/8 nodes.par")
    assert found.code == 0 and 'import "3rd/8 nodes.par"' in found.out
    Path("new.par").write_text(
        'import "3rd/8 nodes.par"\n' + JOB.replace("std.h100_pod", "site_8_nodes")
    )
    assert parc.load("new.par").cluster.gpu.matmul_efficiency != 0.62
