"""parc calibrate: parameters come back out of logs, and what cannot be told is said, not guessed."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import parc
from parc.__main__ import main
from parc.calibrate import is_ours
from parc.calibrate.parameters import PARAMETERS, owner_of
from parc.calibrate.setting_text import quantity_text
from parc.dsl.library import std_entries
from parc.dsl.schema import setting_types
from parc.dsl.standard import std_cluster, std_gpu
from tests.support import simulated_logs
from tests.support.paths import ROOT
from tests.support.simulated_logs import JOB, RUNS, TRUE, log_text, noisy, true_seconds


class Ran:
    def __init__(self, code: int, out: str, err: str):
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.out)
        return document

    def parameter(self, name: str) -> dict[str, Any]:
        return next(each for each in self.json["parameters"] if each["name"] == name)

    def fitted(self, setting: str) -> float:
        found = [
            each["settings"][setting]["fitted"]
            for each in self.json["parameters"]
            if setting in each["settings"]
        ]
        return float(found[0])


Calibrate = Callable[..., Ran]


@pytest.fixture
def calibrate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Calibrate:
    """Runs the command in a folder with job.par; -o is site.par."""
    monkeypatch.chdir(tmp_path)
    Path("job.par").write_text(JOB)

    def call(*arguments: str, job: str = "job.par", output: str = "site.par") -> Ran:
        try:
            code = main(["calibrate", *arguments, "--job", job, "-o", output])
        except SystemExit as stop:
            code = int(stop.code or 0)
        captured = capfd.readouterr()
        assert "Traceback" not in captured.err
        assert not list(Path().glob(".parc-*"))
        return Ran(code, captured.out, captured.err)

    return call


def record(*names: str, noise: float = 0.01, values: Mapping[str, float] = TRUE) -> list[str]:
    return simulated_logs.record(Path(), names, noise, values)


def test_the_parameters_come_back(calibrate: Calibrate) -> None:
    found = calibrate(*record(*RUNS), "--json")
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
    many = calibrate(*record(*RUNS), "--json")
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
    same = {"name", "step_spread", *fitted}
    assert job.cluster.gpu.model_dump(exclude=same) == old.cluster.gpu.model_dump(exclude=same)
    assert job.cluster.gpu.step_spread == report.json["step_spread"]
    again = calibrate(*logs, job="new.par")
    assert again.code == 0 and "nothing to change; the job uses it" in again.out
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
    fitted |= {"name", "step_spread", "measured"}
    assert new.gpu.model_dump(exclude=fitted) == old.gpu.model_dump(exclude=fitted)
    assert new.gpu.matmul_efficiency != old.gpu.matmul_efficiency
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


def test_mutilated_logs_are_complained_of_or_used(calibrate: Calibrate) -> None:
    """Random numbers in random places: a complaint or a result, never an exception."""
    dice = random.Random(11)
    whole, values = record("tp2"), ["0", "-1", "nan", "", "3", "99999999", "9" * 5000]
    for name in ("tp1", "stages", "zero3"):
        text = log_text(RUNS[name], [2.0] * 8)
        for _ in range(6):
            place = dice.choice(list(re.finditer(r"\d+(?:\.\d+)?", text)))
            changed = text[: place.start()] + dice.choice(values) + text[place.end() :]
            Path("x.log").write_text(changed)
            assert calibrate("x.log", *whole).code in (0, 1, 2)


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


def test_steps_without_a_steady_state_are_told(calibrate: Calibrate) -> None:
    logs = record("tp1")
    Path("wild.log").write_text(log_text(RUNS["tp2"], [3.0, 9.0, 2.0, 8.0, 1.0, 7.0, 3.0, 9.0]))
    Path("short.log").write_text(log_text(RUNS["tp2"], [3.0] * 4))
    found = calibrate(*logs, "wild.log", "short.log")
    assert found.code == 2 and found.err.count("PAR794") == 2
    assert "vary by" in found.err and "reports 4 steps" in found.err


def test_bad_logs_are_all_named(calibrate: Calibrate) -> None:
    logs = record("tp1", "tp2")
    Path("empty.log").write_text("\n")
    Path("binary.log").write_bytes(bytes(range(256)) * 10)
    Path("packed.log").write_bytes(b"\x1f\x8b\x08abc")
    Path("other.log").write_text("{'loss': 1.2, 'train_runtime': 12.3}\n" * 9)
    bad = ["empty.log", "binary.log", "packed.log", "other.log", "missing.log", "."]
    found = calibrate(*logs, *bad)
    assert found.code == 2 and not Path("site.par").exists()
    assert all(f"`{name}`" in found.err for name in bad)
    assert found.err.count("PAR790") == 6 and found.err.count("PAR791") == 1
    assert "6 of 8 logs cannot be used" in found.err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layers": 80}, "is of a model with layers 80, the job's has 32"),
        ({"hidden": 8192}, "is of a model with hidden 8192, the job's has 4096"),
    ],
)
def test_a_log_of_another_model_is_told(
    calibrate: Calibrate, change: dict[str, int], message: str
) -> None:
    logs = record("tp1")
    for name in ("tp2", "fsdp"):
        Path(f"{name}.log").write_text(log_text(RUNS[name], [1.0] * 12, change))
    found = calibrate(*logs, "tp2.log", "fsdp.log")
    assert found.code == 2 and found.err.count("PAR792") == 2 and found.err.count(message) == 2


def test_a_log_of_a_framework_that_the_job_lacks(calibrate: Calibrate) -> None:
    logs = record("tp1", "fsdp")
    Path("one.par").write_text(re.sub(r"target torchtitan \{.*?\}", "", JOB))
    found = calibrate(*logs, job="one.par")
    assert found.code == 2 and "PAR792" in found.err and "add `target torchtitan {}`" in found.err


def test_a_layout_that_the_framework_cannot_run(calibrate: Calibrate) -> None:
    logs = record("tp1")
    text = log_text(RUNS["tp2"], [1.0] * 12)
    Path("odd.log").write_text(re.sub(r"(tensor_model_parallel_size \.+) 2", r"\1 3", text))
    found = calibrate(*logs, "odd.log")
    assert found.code == 2 and "odd.log:" in found.err and "tp 3" in found.err


def test_what_the_target_does_not_price_is_refused(calibrate: Calibrate) -> None:
    logs = record("tp1")
    text = log_text(RUNS["fsdp"], [1.0] * 12)
    Path("off.log").write_text(text.replace("Applied FSDP", "Applied CPU Offloading"))
    found = calibrate(*logs, "off.log")
    assert found.code == 2 and "off.log: `offload` is always none on torchtitan" in found.err


def bare(name: str) -> str:
    """A log that lost its beginning: steps alone."""
    text = log_text(RUNS[name], noisy(true_seconds(RUNS[name], Path(), TRUE), 0.01, 5))
    return "".join(
        line for line in text.splitlines(True) if "iteration" in line or line.startswith("step ")
    )


def test_what_a_log_leaves_open_comes_from_the_command_line(calibrate: Calibrate) -> None:
    logs = record("tp1", "tp2")
    Path("zero3.log").write_text(bare("zero3"))
    open_ = calibrate(*logs, "zero3.log", "--json")
    assert open_.json["runs"][2]["filled"]
    layout = "zero3.log:zero=3,dp_shard=8,micro_batch=2,recompute=full,recompute_layers=0,vpp=1"
    given = calibrate(*logs, "zero3.log", "--layout", layout, "--json")
    assert given.code == 0 and given.json["runs"][2]["filled"] == []
    assert given.json["runs"][2]["layout"]["zero"] == 3
    assert abs(given.json["runs"][2]["error_after"]) < 0.02


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ("tp1.log:tp=2", "PAR793"),
        ("tp1.log:tq=2", "unknown degree"),
        ("nolog:tp=2", "PAR793"),
        ("tp1.log:", "names no degree"),
        ("pp=4", "--layout says 4"),
    ],
)
def test_a_layout_that_cannot_be_meant(calibrate: Calibrate, layout: str, message: str) -> None:
    found = calibrate(*record("tp1", "tp2"), "--layout", layout)
    assert found.code == 2 and message in found.err and not Path("site.par").exists()


def test_a_job_that_leaves_the_nodes_open(calibrate: Calibrate) -> None:
    logs = record("tp1", "tp2")
    Path("zero3.log").write_text(bare("zero3"))
    Path("open.par").write_text(JOB.replace("nodes = 1", "nodes = 1..4"))
    found = calibrate(*logs, "zero3.log", job="open.par")
    assert found.code == 2 and "does not say on how many nodes" in found.err
    layout = "zero3.log:nodes=1,zero=3,dp_shard=8,micro_batch=2,recompute=full"
    assert calibrate(*logs, "zero3.log", "--layout", layout, job="open.par").code == 0


def test_a_batch_that_cannot_have_run(calibrate: Calibrate) -> None:
    logs = record("tp1", "tp2")
    Path("zero3.log").write_text(bare("zero3"))
    found = calibrate(*logs, "zero3.log", "--set", "train.global_batch=256")
    assert found.code == 2 and "about 524," in found.err and "1,048,576" in found.err


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


def with_arguments(text: str, **arguments: object) -> str:
    """A log of Megatron-LM whose block of arguments also has these."""
    end = "-------------------- end of arguments"
    lines = [f"  {name} {'.' * (48 - len(name))} {value}\n" for name, value in arguments.items()]
    return text.replace(end, "".join(lines) + end)


def test_a_run_is_priced_with_the_kernels_and_overlap_of_its_arguments(
    calibrate: Calibrate,
) -> None:
    """The same times of a run that did not overlap are those of a faster cluster."""
    logs = record("tp2")
    text = Path("tp2.log").read_text()
    as_the_job = calibrate(*logs, "--json").json["runs"][0]
    assert as_the_job["facts"] == {}
    stated = with_arguments(
        text,
        overlap_grad_reduce=False,
        tp_comm_overlap=False,
        grad_reduce_in_bf16=True,
        attention_backend="AttnBackend.flash",
        flash_attention_version=2,
    )
    Path("tp2.log").write_text(stated)
    found = calibrate(*logs, "--json")
    facts = {"grad_dtype": "bf16", "dp_overlap": False, "attention_kernel": "fa2"}
    assert {**found.json["runs"][0]["facts"], "tp_overlap": False} == {**facts, "tp_overlap": False}
    assert found.json["runs"][0]["error_before"] > as_the_job["error_before"] + 0.01
    assert "tp2.log ran with grad_dtype bf16, " in calibrate(*logs).out
    Path("said.par").write_text(
        JOB.replace(
            "target megatron   {",
            "target megatron   { grad_dtype = bf16; dp_overlap = false; attention_kernel = fa2;"
            " tp_overlap = false;",
        )
    )
    said = calibrate(*logs, "--json", job="said.par").json["runs"][0]
    assert said["facts"] == {} and said["error_before"] == found.json["runs"][0]["error_before"]


def test_a_log_without_arguments_says_that_the_job_s_are_assumed(calibrate: Calibrate) -> None:
    logs = record("tp1")
    Path("bare.log").write_text(bare("tp2"))
    layout = "bare.log:tp=2,pp=1,zero=1,dp_shard=4,micro_batch=2,recompute=selective,vpp=1"
    found = calibrate(*logs, "bare.log", "--layout", layout)
    assert found.code == 0
    assert "bare.log does not show its settings: kernels and overlap are the job's" in found.out
    assert "tp1.log does not show" not in found.out


def test_a_slow_first_hour_is_left_out_and_said(calibrate: Calibrate) -> None:
    seconds = true_seconds(RUNS["tp1"], Path(), TRUE)
    steady = [seconds * (1 + 0.001 * (step % 3)) for step in range(60)]
    Path("slow.log").write_text(log_text(RUNS["tp1"], [seconds * 1.4] * 30 + steady))
    found = calibrate("slow.log", "--json")
    run = found.json["runs"][0]
    assert run["step_seconds"] == pytest.approx(seconds * 1.001, rel=0.002)
    assert "slow.log ran at another pace at first" in calibrate("slow.log").out


def test_a_restart_and_a_log_that_was_cut_still_give_the_time(calibrate: Calibrate) -> None:
    seconds = true_seconds(RUNS["tp2"], Path(), TRUE)
    whole = log_text(RUNS["tp2"], noisy(seconds, 0.001, 3))
    Path("again.log").write_text(whole + log_text(RUNS["tp2"], noisy(seconds, 0.001, 4)))
    inside = [whole.rindex(word) + len(word) + 2 for word in ("(ms): ", "batch", "iteration ")]
    cuts = [int(len(whole) * 0.7), *inside]
    for number, cut in enumerate(cuts):
        Path(f"cut{number}.log").write_text(whole[:cut])
    found = calibrate("again.log", *(f"cut{number}.log" for number in range(len(cuts))), "--json")
    assert found.code == 0, found.err
    for run in found.json["runs"]:
        assert run["step_seconds"] == pytest.approx(seconds, rel=0.003)
    Path("head.log").write_text(whole[: whole.index("iteration")])
    refused = calibrate("again.log", "head.log")
    assert refused.code == 2 and "PAR791" in refused.err and "`head.log`" in refused.err
