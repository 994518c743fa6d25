"""parc calibrate: what logs say, leave open, and say wrong."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

import parc
from tests.support import simulated_logs
from tests.support.calibrate_command import Calibrate
from tests.support.simulated_logs import JOB, RUNS, TRUE, log_text, noisy, true_seconds


def record(*names: str, noise: float = 0.01, values: Mapping[str, float] = TRUE) -> list[str]:
    return simulated_logs.record(Path(), names, noise, values)


def bare(name: str) -> str:
    """A log that lost its beginning: steps alone."""
    text = log_text(RUNS[name], noisy(true_seconds(RUNS[name], Path(), TRUE), 0.01, 5))
    return "".join(
        line for line in text.splitlines(True) if "iteration" in line or line.startswith("step ")
    )


def with_arguments(text: str, **arguments: object) -> str:
    """A log of Megatron-LM whose block of arguments also has these."""
    end = "-------------------- end of arguments"
    lines = [f"  {name} {'.' * (48 - len(name))} {value}\n" for name, value in arguments.items()]
    return text.replace(end, "".join(lines) + end)


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
    assert found.err.count("PAR790") == 5 and found.err.count("PAR791") == 2
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
        ("pp=4", "ran with pp 1, but is given with 4"),
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


@pytest.mark.parametrize("lost", ["start", "end"])
def test_what_a_cut_block_of_arguments_lacks_is_left_open(calibrate: Calibrate, lost: str) -> None:
    """Arguments are printed by name: without its end a block lacks use_distributed_optimizer."""
    text = log_text(RUNS["tp2"], noisy(true_seconds(RUNS["tp2"], Path(), TRUE), 0.001, 3))
    begin, end, first = (text.index(word) for word in ("-----", "use_distributed", " [2026"))
    middle = text.index("micro_batch_size")
    kept = text[:begin] + text[middle:] if lost == "start" else text[:end] + text[first:]
    Path("cut.log").write_text(kept)
    found = calibrate("cut.log")
    assert found.code == 0, found.err
    assert re.search("cut.log does not say .*zero, .*recompute", found.out)
    assert "cut.log does not show its settings" in found.out


def test_a_run_above_the_peak_of_its_gpus_is_of_another_job(calibrate: Calibrate) -> None:
    Path("fast.log").write_text(log_text(RUNS["tp2"], noisy(0.01, 0.001, 3)))
    found = calibrate("fast.log")
    assert found.code == 2 and "PAR792" in found.err and "at the peak of" in found.err
    assert not Path("site.par").exists()


@pytest.mark.parametrize("how", ["utf-16", "utf-16-be", "utf-8-sig", "zeros", "crcrlf"])
@pytest.mark.parametrize("name", ["tp2", "zero3"])
def test_other_encodings_and_holes_change_nothing(
    calibrate: Calibrate, name: str, how: str
) -> None:
    """PowerShell writes UTF-16, a node that crashes leaves zeros."""
    (log,) = record(name)
    plain = calibrate(log, "--json").json["runs"][0]
    text = Path(log).read_text()
    changed = {
        "utf-16-be": b"\xfe\xff" + text.encode("utf-16-be"),
        "zeros": text.encode()[:-300] + bytes(4096) + text.encode()[-300:],
        "crcrlf": text.replace("\n", "\r\r\n").encode(),
    }
    Path(log).write_bytes(changed.get(how) or text.encode(how))
    assert calibrate(log, "--json").json["runs"][0] == plain


@pytest.mark.parametrize(
    "head", [b"\x1f\x8b\x08", b"\xfd7zXZ\0", b"(\xb5/\xfd", b"BZh9", b"PK\x03\x04"]
)
def test_a_packed_log_is_to_be_unpacked(calibrate: Calibrate, head: bytes) -> None:
    Path("x.log").write_bytes(head + bytes(range(256)))
    found = calibrate("x.log")
    assert found.code == 2 and "is packed" in found.err and "unpack it first" in found.err


@pytest.mark.parametrize(
    "name", ["a\nb.log", "a\rgpu x {}.log", 'it\'s a "log".log', "a\udcffb.log", "\x1b[31m.log"]
)
def test_a_log_of_any_name_gives_a_file_that_is_read(calibrate: Calibrate, name: str) -> None:
    Path(name).write_text(log_text(RUNS["tp2"], noisy(8.0, 0.001, 3)))
    assert calibrate(name).code == 0
    Path("new.par").write_text('import "site.par"\n' + JOB.replace("std.h100_pod", "site"))
    assert parc.load("new.par").cluster.measured


@pytest.mark.parametrize("name", ["x" * 300, "x/" * 3000, ""])
def test_a_name_that_no_file_has_is_told(calibrate: Calibrate, name: str) -> None:
    found = calibrate(name)
    assert found.code == 2 and "PAR790" in found.err and not Path("site.par").exists()


def test_neither_a_log_nor_the_job_is_replaced(calibrate: Calibrate) -> None:
    logs = record("tp1")
    for path in ("tp1.log", "job.par", "./tp1.log"):
        before = Path(path).read_bytes()
        found = calibrate(*logs, "--force", output=path)
        assert found.code == 2 and "is read" in found.err and Path(path).read_bytes() == before


def test_a_slow_last_hour_does_not_count(calibrate: Calibrate) -> None:
    seconds = true_seconds(RUNS["tp1"], Path(), TRUE)
    for share in (0.15, 0.22):
        slow = round(90 * share)
        Path("slow.log").write_text(
            log_text(RUNS["tp1"], noisy(seconds, 0.002, 3, 90 - slow) + [seconds * 1.4] * slow)
        )
        run = calibrate("slow.log", "--json").json["runs"][0]
        assert run["step_seconds"] == pytest.approx(seconds, rel=0.005)


def test_two_paces_in_turn_are_told(calibrate: Calibrate) -> None:
    """A third of the reports, in turns, is no stall."""
    times = [8.0 if step // 4 % 3 else 11.0 for step in range(96)]
    Path("two.log").write_text(log_text(RUNS["tp1"], times))
    found = calibrate("two.log")
    assert found.code == 0 and "PAR794" in found.err and "`two.log` has two paces" in found.err
    assert "about 11 s, its step counts as 8 s" in found.err
    Path("half.log").write_text(log_text(RUNS["tp1"], [8.0] * 40 + [11.0] * 40))
    found = calibrate("half.log")
    assert "ran at another pace at first, 8 s: " in found.out and "11 s ±" in found.out


@pytest.mark.parametrize("times", [4, 1000])
def test_a_run_as_slow_as_no_cluster_is_told_and_kept_from_plans(
    calibrate: Calibrate, times: int
) -> None:
    """Such as of a log in other units: what the site's file says of it must still be read."""
    seconds = times * true_seconds(RUNS["tp1"], Path(), TRUE)
    Path("x.log").write_text(log_text(RUNS["tp1"], noisy(seconds, 0.001, 3)))
    found = calibrate("x.log")
    assert found.code == 0 and "PAR796" in found.err and "off at best" in found.err
    Path("new.par").write_text('import "site.par"\n' + JOB.replace("std.h100_pod", "site"))
    job = parc.load("new.par")
    assert parc.compile(job) and len(job.cluster.measured) == (times == 4)


def test_degrees_and_nodes_that_nobody_says_are_named(calibrate: Calibrate) -> None:
    logs = record("fsdp")
    Path("bare.log").write_text(
        "".join(line for line in Path("fsdp.log").read_text().splitlines(True) if "tps:" in line)
    )
    found = calibrate(*logs, "bare.log")
    assert "bare.log does not say tp, pp, cp, nodes, " in found.out
    assert "1 as degree, the job's nodes, parc's choice are assumed" in found.out
    assert "fsdp.log does not say" not in found.out


def test_many_runs_that_contradict_each_other_are_one_complaint(calibrate: Calibrate) -> None:
    for number in range(12):
        text = log_text(RUNS["tp1"], noisy(8.0 * (1 + number / 5), 0.002, number))
        Path(f"{number}.log").write_text(text)
    found = calibrate(*(f"{number}.log" for number in range(12)))
    assert found.code == 0 and found.err.count("ran the same layout") == 1
    assert "`0.log` and `11.log`" in found.err and "more pairs" in found.err


@pytest.mark.parametrize("value", ["1e999", "1e999999999", "1e-999999999", "1.2.3", "0", "5.0"])
def test_an_edited_prior_is_told_at_its_place(calibrate: Calibrate, value: str) -> None:
    logs = record("tp1", "tp2")
    assert calibrate(*logs).code == 0
    text, entry = Path("site.par").read_text(), '"matmul_efficiency = 0.68"'
    assert entry in text
    Path("site.par").write_text(text.replace(entry, f'"matmul_efficiency = {value}"', 1))
    Path("new.par").write_text('import "site.par"\n' + JOB.replace("std.h100_pod", "site"))
    found = calibrate(*logs, job="new.par", output="other.par")
    assert found.code == 2 and "`before`" in found.err.replace("before calibration", "`before`")
    assert "--> site.par:" in found.err and not Path("other.par").exists()


def test_a_job_whose_figures_are_out_of_bounds_is_calibrated(calibrate: Calibrate) -> None:
    own = JOB.replace("cluster pod from std.h100_pod { nodes = 1 }", """
gpu slow from std.h100_sxm { memory_efficiency = 0.01 }
cluster pod from std.dgx_h100 { gpu = slow; nodes = 1 }
""")  # fmt: skip
    Path("own.par").write_text(own)
    assert calibrate(*record("tp1", "tp2"), job="own.par").code == 0
