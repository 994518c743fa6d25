"""The command line: exit codes, stdout and stderr, --json, --check and --diff, and an output left whole."""

from __future__ import annotations

import codecs
import errno
import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import parc
from parc.commands import words
from parc.dsl.diagnostics import JobError
from tests.support.command_line import JOB, Parc, tree
from tests.support.paths import ROOT
from tests.support.waiting import wait_until


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["check", "job.par"], 0),
        (["check", "wrong.par"], 2),
        (["check", "nowhere.par"], 2),
        (["plan", "wrong.par"], 2),
        (["plan", "impossible.par"], 1),
        (["compile", "impossible.par", "-o", "out"], 1),
        (["compile", "wrong.par", "-o", "out"], 2),
        (["compile", "job.par"], 2),
        (["compile", "job.par", "-o", ""], 2),
        (["calibrate", "run.log", "--job", "job.par", "-o", ""], 2),
        (["import", "run.sh", "-o", ""], 2),
        (["smoke", "job.par", "--keep", ""], 2),
        (["plan", "job.par", "--target", "megatrn"], 2),
        (["plan", "job.par", "--set", "train.seq_len=four"], 2),
        (["estimate", "job.par", "--layout", "tp=8,pp=3"], 1),
        (["estimate", "job.par", "--layout", "tq=8"], 2),
        (["estimate", "job.par", "--layout", "tp"], 2),
        (["std", "dgx_h100"], 0),
        (["std", "dgx_h1000"], 2),
        (["nonsense"], 2),
        ([], 2),
        (["--help"], 0),
        (["--version"], 0),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_exit_codes(run: Parc, arguments: list[str], code: int) -> None:
    ran = run(*arguments)
    assert ran.code == code, ran.err
    assert bool(ran.err) == (code != 0), "complaints go to stderr, and nothing else does"
    assert not Path("out").exists()


@pytest.mark.parametrize("name", words())
def test_every_command_has_help(run: Parc, name: str) -> None:
    ran = run(name, "--help")
    assert ran.code == 0 and ran.out.startswith(f"usage: parc {name}") and not ran.err


def test_every_wrong_job_is_complained_about_before_any_is_solved(run: Parc) -> None:
    ran = run("compile", "wrong.par", "job.par", "nowhere.par", "-o", "out")
    assert ran.code == 2 and "wrong.par:2" in ran.err and "nowhere.par" in ran.err


def test_plan_prints_the_layouts_and_the_best_in_full(run: Parc) -> None:
    ran = run("plan", "job.par", "-v")
    assert ran.code == 0
    assert {"megatron", "torchtitan"} <= {
        line.split()[0] for line in ran.out.splitlines() if line.strip()
    }
    for word in ("◀ best", "memory", "step", "MFU", "tokens/s", "proof", "optimal over"):
        assert word in ran.out


def test_plan_json_is_the_plan(run: Parc) -> None:
    ran = run("plan", "job.par", "--json", "--target", "torchtitan")
    value = json.loads(ran.out)
    assert [plan["target"] for plan in value["plans"]] == ["torchtitan"]
    layout = value["plans"][0]["layout"]
    product = (
        layout["tp"] * layout["pp"] * layout["cp"] * layout["dp_replicate"] * layout["dp_shard"]
    )
    assert product == value["plans"][0]["gpus"] == 8
    assert value["plans"][0]["proof"]["status"] == "OPTIMAL"
    assert "seconds" not in value["plans"][0]["proof"]


def test_overrides_change_the_job(run: Parc) -> None:
    short, long = (
        json.loads(run("plan", "job.par", "--json", "--set", f"train.seq_len={n}").out)
        for n in (512, 4096)
    )
    assert short["job"]["sha256"] != long["job"]["sha256"]
    assert short["plans"][0]["step_seconds"] < long["plans"][0]["step_seconds"]


def test_no_layout_quotes_the_condition(run: Parc) -> None:
    ran = run("plan", "impossible.par")
    assert ran.out == "" and "require memory <= 1 MiB" in ran.err


def test_estimate_prices_a_layout_and_names_broken_rules(run: Parc) -> None:
    fine = run(
        "estimate", "job.par", "--layout", "tp=2,recompute=full", "--target", "megatron", "--json"
    )
    priced = json.loads(fine.out)["estimates"][0]
    assert fine.code == 0 and (priced["layout"]["tp"], priced["layout"]["recompute"]) == (2, "full")
    broken = run("estimate", "job.par", "--layout", "tp=3", "--json")
    assert broken.code == 1
    assert any("heads" in rule["message"] for rule in json.loads(broken.out)["broken"])


def test_estimate_agrees_with_the_plan(run: Parc) -> None:
    plan = json.loads(run("plan", "job.par", "--json", "--target", "megatron").out)["plans"][0]
    layout = ",".join(
        f"{name}={degree}" for name, degree in plan["layout"].items() if name != "nodes"
    )
    ran = run("estimate", "job.par", "--json", "--target", "megatron", "--layout", layout)
    priced = json.loads(ran.out)["estimates"][0]
    assert ran.code == 0 and priced["step_seconds"] == plan["step_seconds"]


def test_check_json_lists_every_complaint(run: Parc) -> None:
    ran = run("check", "wrong.par", "nowhere.par", "--json")
    found = json.loads(ran.out)
    assert {complaint["path"] for complaint in found} >= {"wrong.par"}
    assert all(complaint["code"].startswith("PAR") for complaint in found)


CAUTIOUS = JOB.replace("vocab = 32_000", "vocab = 32_000; experts = 8; topk = 2").replace(
    'target megatron { data = "/data/text_document" }', "target megatron {}"
)


@pytest.mark.parametrize(
    "command",
    [
        ["plan", "job.par"],
        ["compile", "job.par", "-o", "out"],
        ["estimate", "job.par", "--layout", "tp=1"],
    ],
    ids=lambda command: str(command[0]),
)
def test_what_trains_otherwise_than_one_thinks_is_said_once(run: Parc, command: list[str]) -> None:
    Path("job.par").write_text(CAUTIOUS)
    ran = run(*command)
    assert ran.code == 0, ran.err
    assert ran.err.count("warning[PAR375]: megatron: no `data` is set") == 1
    assert ran.err.count("warning[PAR376]: nothing balances the 8 experts") == 1
    printed = json.loads(run(*command, "--json").out)
    priced = printed.get("estimates") or printed.get("plans") or printed["jobs"][0]["plans"]
    said = {each["target"]: [warning["code"] for warning in each["warnings"]] for each in priced}
    assert said == {"megatron": ["PAR375", "PAR376"], "torchtitan": ["PAR376"]}


def test_an_output_that_is_a_file(run: Parc) -> None:
    Path("out").write_text("mine")
    ran = run("compile", "job.par", "-o", "out")
    assert ran.code == 2 and "error[PAR090]" in ran.err and Path("out").read_text() == "mine"


@pytest.mark.parametrize("error", [errno.EACCES, errno.ENOSPC, errno.EROFS])
def test_an_output_that_cannot_be_written_stays_whole(
    run: Parc, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    """The error is raised by hand: permissions do not stop root, and a full disk is not at hand."""
    run("compile", "job.par", "-o", "out")
    before = tree(Path("out"))

    def fail(*_: Any) -> None:
        raise OSError(error, os.strerror(error))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        ran = run("compile", "job.par", "-o", "out", "--set", "train.seq_len=2048")
    assert ran.code == 2 and os.strerror(error).lower() in ran.err
    assert tree(Path("out")) == before


def test_ctrl_c_leaves_the_output_whole(run: Parc, monkeypatch: pytest.MonkeyPatch) -> None:
    run("compile", "job.par", "-o", "out")
    before = tree(Path("out"))

    def press(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", press)
        ran = run("compile", "job.par", "-o", "out", "--set", "train.seq_len=2048")
    assert ran.code == 130 and ran.err == "interrupted\n"
    assert tree(Path("out")) == before


def test_ctrl_c_while_solving_ends_at_once(run: Parc) -> None:
    """A real SIGINT to a real process, sent as soon as it has loaded its solver."""
    command = [
        sys.executable,
        "-m",
        "parc",
        "compile",
        str(ROOT / "examples/llama3_405b.par"),
        "-o",
        "out",
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    mapped = Path(f"/proc/{process.pid}/maps")
    wait_until(
        lambda: process.poll() is not None or "ortools" in mapped.read_text(), 120, "a solver"
    )
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err and not Path("out").exists()


def test_a_closed_pipe_is_no_error(run: Parc) -> None:
    command = f"set -o pipefail; {sys.executable} -m parc rules | head -n 1"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert result.returncode == 0 and result.stderr == ""


def terminal_output(*arguments: str, **environment: str) -> str:
    """What a command prints when both its streams are a terminal."""
    leader, follower = pty.openpty()
    variables = {"TERM": "xterm-256color", "PATH": os.environ["PATH"], **environment}
    command = [sys.executable, "-m", "parc", *arguments]
    process = subprocess.Popen(command, stdout=follower, stderr=follower, env=variables)
    os.close(follower)
    text = b""
    while chunk := _read(leader):
        text += chunk
    process.wait(timeout=60)
    os.close(leader)
    return text.decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""


def test_colour_is_for_terminals_that_want_it(run: Parc) -> None:
    assert "\x1b[1;31merror" in terminal_output("check", "wrong.par")
    assert "\x1b[" not in terminal_output("check", "wrong.par", NO_COLOR="1")
    assert "\x1b[" in terminal_output("plan", "job.par")


TRY = """\
# a first job
model: llama3_8b
cluster from p5.48xlarge { num_nodes: 2 }
train { seq_len = 8192, batch_size = 512, tokens = 2B tokens; epochs = 1 }
target megatron
"""
MENDED = """\
# a first job
model from llama3_8b { }
cluster from "p5.48xlarge" { nodes = 2 }
train { seq_len = 8192; global_batch = 512; tokens = 2G tokens; epochs = 1 }
target megatron { }
"""


def test_check_shows_and_writes_cures(run: Parc) -> None:
    path = Path("try.par")
    path.write_bytes(codecs.BOM_UTF8 + TRY.encode())
    shown = run("check", "--diff", "try.par")
    assert shown.code == 1 and "+model from llama3_8b { }\n" in shown.out
    assert path.read_bytes() == codecs.BOM_UTF8 + TRY.encode()
    written = run("check", "--fix", "try.par")
    assert written.code == 2 and "fixed try.par: 9" in written.err and "`epochs`" in written.err
    assert path.read_bytes() == codecs.BOM_UTF8 + MENDED.encode()
    assert run("check", "--fix", "--unsafe-fixes", "try.par").code == 0
    assert path.read_text("utf-8-sig") == MENDED.replace(" epochs = 1", "")
    assert run("check", "--diff", "try.par").out == ""


def test_check_tells_cures_as_data(run: Parc) -> None:
    Path("try.par").write_text(JOB.replace("seq_len", "seq_length"))
    (found,) = [each for each in json.loads(run("check", "--json", "try.par").out) if each["fix"]]
    (edit,) = found["fix"]["edits"]
    text = Path("try.par").read_text()
    assert found["fix"]["safe"] and text[edit["start"] : edit["end"]] == "seq_length"
    assert (edit["line"], edit["end_column"] - edit["column"]) == (found["line"], 10)
    assert edit["text"] == "seq_len"


def test_std_lists_and_prints(run: Parc) -> None:
    listed = run("std").out
    assert any(line.split()[:2] == ["cluster", "dgx_h100"] for line in listed.splitlines())
    text = run("std", "std.dgx_h200").out
    assert text.startswith("cluster dgx_h200 from dgx_h100 {") and text.endswith("}\n")
    assert len(json.loads(run("std", "--json").out)) == len(listed.splitlines())
    assert run("std", "p5.48xlarge").out.startswith("cluster cloud_h100 {")
    assert json.loads(run("std", "cloud_h100", "--json").out)[0]["aliases"] == ["p5.48xlarge"]


def test_the_python_api(run: Parc) -> None:
    job = parc.load("job.par", ["train.seq_len=512"])
    assert job.train.seq_len == 512
    plans = parc.compile(job)
    rates = [plan.estimate.mfu for plan in plans]
    assert rates == sorted(rates, reverse=True) and len(rates) == 2
    best = plans[0]
    degrees = best.layout.model_dump(exclude={"nodes"})
    assert parc.estimate(job, degrees, best.target).step_seconds == best.estimate.step_seconds
    assert [plan.target for plan in parc.compile(job, ["torchtitan"])] == ["torchtitan"]
    with pytest.raises(JobError):
        parc.compile(parc.load("impossible.par"))
    with pytest.raises(JobError):
        parc.load("wrong.par")
