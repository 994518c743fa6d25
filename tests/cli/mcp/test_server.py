"""`parc mcp` asked by the client of the protocol's own SDK: what it lists, answers, refuses and ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from parc.__main__ import main
from parc.printing.schemas import SCHEMAS, address, schema
from tests.support.command_line import JOB
from tests.support.mcp_client import REASON, Session, session
from tests.support.paths import ROOT
from tests.support.waiting import wait_until

pytest.importorskip("mcp", reason=REASON)

#: More layouts than any machine prices in two seconds.
LONG = (ROOT / "examples" / "deepseek_v3.par").read_text()
SCRIPT = """#!/bin/bash
torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 3 --num-layers 4 --hidden-size 64 \\
  --num-attention-heads 4 --seq-length 128 --micro-batch-size 1 --global-batch-size 8 --moe-z-loss-coeff 0.1
"""
PATIENCE = 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("served")
    (place / "job.par").write_text(JOB)
    (place / "wrong.par").write_text(JOB.replace("layers", "layer"))
    (place / "train.sh").write_text(SCRIPT)
    (place.parent / "secret.par").write_text("let secret_word = 1\n")
    return place


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Session]:
    with session(folder, "--seconds", "120") as opened:
        yield opened


def test_each_tool_says_what_it_takes_and_that_it_changes_nothing(server: Session) -> None:
    tools = server.tools()
    assert [*tools] == ["plan", "estimate", "explain", "check", "lint", "import"]
    for tool in tools.values():
        assert len(tool.description) > 60
        assert tool.input_schema["additionalProperties"] is False
        assert all("description" in each for each in tool.input_schema["properties"].values())
        assert tool.annotations.read_only_hint and not tool.annotations.open_world_hint


def test_the_schemas_of_the_answers_are_its_resources(server: Session) -> None:
    listed = {str(each.uri) for each in server.portal.call(server.client.list_resources).resources}
    assert listed == {address(name) for name in SCHEMAS}
    (content,) = server.portal.call(server.client.read_resource, address("plan")).contents
    assert json.loads(content.text) == schema("plan")
    with pytest.raises(Exception, match="there is no resource `urn:parc:schema:plan:0`"):
        server.portal.call(server.client.read_resource, "urn:parc:schema:plan:0")


def test_initialising_says_what_a_job_is_and_that_job_has_no_errors(server: Session) -> None:
    text = server.client.instructions
    job = text[text.index("model ") : text.index("`import`")]
    assert server.call("check", job=job).data == {"complaints": []}


@pytest.mark.parametrize(
    ("tool", "arguments", "command"),
    [
        ("plan", {"file": "job.par"}, ["plan", "job.par", "--json"]),
        (
            "estimate",
            {"file": "job.par", "layout": "tp=2", "set": ["train.seq_len=256"]},
            ["estimate", "job.par", "--layout=tp=2", "--set=train.seq_len=256", "--json"],
        ),
        (
            "explain",
            {"file": "job.par", "against": "tp=2"},
            ["explain", "job.par", "--against", "tp=2", "--json"],
        ),
        ("check", {"file": "wrong.par"}, ["check", "wrong.par", "--json"]),
        ("lint", {"files": ["train.sh"]}, ["lint", "train.sh", "--format=json"]),
        ("import", {"files": ["train.sh"]}, ["import", "train.sh", "--json"]),
    ],
)
def test_tools_answer_what_commands_print(
    server: Session,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tool: str,
    arguments: dict[str, object],
    command: list[str],
) -> None:
    monkeypatch.chdir(folder)
    assert main(command) in (0, 1, 2)
    printed = json.loads(capsys.readouterr().out)
    expected = {"complaints": printed} if tool == "check" else printed
    before = sorted(folder.rglob("*"))
    asked = server.call(tool, **arguments)
    assert not asked.wrong and asked.data == expected
    assert json.loads(asked.texts[0]) == expected
    assert sorted(folder.rglob("*")) == before


def test_texts_are_answered_as_files_are(server: Session, folder: Path) -> None:
    job = server.call("estimate", job=JOB, layout="tp=1")
    assert job.data == server.call("estimate", file="job.par", layout="tp=1").data
    for tool in ("lint", "import"):
        text = server.call(tool, texts={"train.sh": SCRIPT})
        assert text.data == server.call(tool, files=["train.sh"]).data
    held = server.call("lint", texts={"train.sh": SCRIPT, "job.par": JOB}, spec="job.par")
    assert {each["code"] for each in held.data["findings"]} > {
        each["code"] for each in text.data.get("findings", [])
    }


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("plan", {}, "error[PAR099]: plan: give either `job`, a text, or `file`, a name"),
        ("plan", {"file": "nothing.par"}, "there is no file `nothing.par`"),
        ("plan", {"file": "../secret.par"}, "error[PAR191]: plan: `../secret.par` is outside"),
        ("plan", {"job": "model {"}, "--> job.par:1:8"),
        ("plan", {"file": "job.par", "targets": ["megatrn"]}, "has no target `megatrn`"),
        ("estimate", {"file": "job.par", "layout": "tq=2"}, "unknown degree `tq`"),
        ("explain", {"file": "job.par", "against": "tq=2"}, "--against: unknown degree `tq`"),
        ("lint", {"files": ["job.par"]}, "`job.par` is a job, no launch file"),
        ("lint", {"files": ["train.sh"], "select": ["PAR1", "nonsense"]}, "nonsense"),
        ("import", {"texts": {"a.sh": "echo\n"}}, "these files start no training"),
        ("import", {"texts": {"a": "x", "a/b": "y"}}, "no file can have the name `a/b`"),
    ],
)
def test_bad_input_is_an_error_that_says_what_to_give(
    server: Session, tool: str, arguments: dict[str, object], message: str
) -> None:
    asked = server.call(tool, **arguments)
    assert asked.wrong and message in asked.texts[0] and "Traceback" not in asked.texts[0]


def test_an_unknown_tool_is_an_error_of_the_protocol(server: Session) -> None:
    with pytest.raises(Exception, match="there is no tool `explan`: did you mean `explain`"):
        server.call("explan")


def test_a_call_that_is_given_up_ends_its_process(folder: Path) -> None:
    with session(folder, "--seconds", "600") as server:
        assert server.call("check", file="job.par").data == {"complaints": []}
        for _ in range(3):  # more than run at once
            assert server.cancelled(1.0, "plan", job=LONG)
        begun = time.monotonic()
        assert server.call("check", file="job.par").data == {"complaints": []}
        assert time.monotonic() - begun < PATIENCE


def test_a_call_that_takes_too_long_is_stopped_and_the_next_is_answered(folder: Path) -> None:
    with session(folder, "--seconds", "2") as server:
        asked = server.call("plan", job=LONG)
        assert asked.wrong and "`plan` took longer than 2 s and was stopped" in asked.texts[0]
        assert "parc mcp --seconds S" in asked.texts[0]
        wait_until(lambda: not server.call("check", job=JOB).wrong, PATIENCE, "the next answer")


def test_more_calls_than_wait_are_refused(folder: Path) -> None:
    with session(folder, "--seconds", "2") as server:
        answers = server.at_once(20, "plan", job=LONG)
        busy = [
            each for each in answers if "was not started: 2 calls run and 16 wait" in each.texts[0]
        ]
        assert len(answers) == 20 and len(busy) == 2 and all(each.wrong for each in answers)


def test_texts_leave_no_file_behind(folder: Path, short: Path) -> None:
    with session(folder, TMPDIR=str(short)) as server:
        assert not server.call("lint", texts={"a/train.sh": SCRIPT}).wrong
        assert server.call("lint", texts={"train.sh": "echo\n"}).wrong
        assert not [*short.glob("parc-mcp-*")]


def begun(folder: Path) -> subprocess.Popen[str]:
    """A server that has answered a request that nobody can mistake, and one line that is none."""
    words = [sys.executable, "-m", "parc", "mcp", "--root", str(folder)]
    process = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdin and process.stdout
    process.stdin.write('this is no JSON\n{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
    process.stdin.flush()
    answers = iter(process.stdout)
    while json.loads(next(answers)).get("id") != 1:
        pass
    return process


def children(number: int) -> set[int]:
    """Processes below one, its own excluded."""
    listed = [number]
    for parent in listed:
        tasks = Path(f"/proc/{parent}/task").glob("*/children")
        listed += [int(child) for task in tasks for child in task.read_text().split()]
    return set(listed[1:])


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("how", ["closed", "terminated", "interrupted", "killed"])
def test_it_ends_with_all_its_processes(folder: Path, how: str) -> None:
    process = begun(folder)
    below = children(process.pid)
    assert len(below) >= 3
    if how == "closed":
        assert process.stdin
        process.stdin.close()
    else:
        number = {
            "terminated": signal.SIGTERM,
            "interrupted": signal.SIGINT,
            "killed": signal.SIGKILL,
        }
        process.send_signal(number[how])
    expected = {"closed": 0, "terminated": 143, "interrupted": 130, "killed": -9}
    assert process.wait(PATIENCE) == expected[how]
    wait_until(
        lambda: not any(Path(f"/proc/{each}/cmdline").exists() for each in below),
        PATIENCE,
        "the end of the processes",
    )
    assert process.stderr and "Traceback" not in process.stderr.read()
