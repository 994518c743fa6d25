"""`parc compile` and `parc lint --fix` are killed by strace at calls that change files, or find no room.

A sample of the calls here; `make fuzz` takes every one.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from parc.__main__ import main
from parc.writing.temporary import new_name
from tests.cli.test_single_file import BAD, FIXED

#: Calls that change a file or a folder, or promise that it has been changed.
CALLS = (
    "openat,write,pwrite64,ftruncate,truncate,rename,renameat,renameat2,link,linkat,unlink,unlinkat,"
    "mkdir,mkdirat,rmdir,chmod,fchmod,fchmodat,fsync,fdatasync,flock"
)
#: Those of them that a full disk, or a quota that is used up, lets fail.
NEED_ROOM = (
    "openat", "write", "pwrite64", "rename", "link", "linkat", "mkdir", "mkdirat", "fsync", "fdatasync",
)  # fmt: skip
NO_ROOM = ("ENOSPC", "EDQUOT")
SAMPLE = None if os.environ.get("PARC_KILLS") == "all" else 3
KILLED = -9
JOB = """
model gpt_125m from std.gpt_125m {}
cluster desk from std.dgx_a100 { gpus_per_node = 2 }
train { seq_len = 2048; global_batch = 256; steps = STEPS }
target megatron { data = synthetic }
"""

pytestmark = pytest.mark.skipif(
    not shutil.which("strace") or subprocess.run(["strace", "-qq", "true"]).returncode != 0,
    reason="strace is not installed, or may not trace here",
)


@pytest.fixture(autouse=True)
def _secret_is_drawn(tmp_path: Path) -> None:
    """Before the calls are counted: the first run of a user draws it, and others make fewer calls."""
    new_name(tmp_path)


@dataclass(frozen=True)
class Call:
    """The n-th call of its name."""

    name: str
    number: int


def traced(arguments: list[str], *options: str) -> int:
    """`parc` under strace: its exit code, negative where a signal ended it.

    It caches no bytecode, so that each run makes the same calls."""
    command = ["strace", "-qq", "-y", "-e", f"trace={CALLS}", *options]
    program = [sys.executable, "-m", "parc", *arguments]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([*command, *program], env=environment, capture_output=True).returncode


def calls_at(place: Path, arguments: list[str], log: Path) -> list[Call]:
    """The calls of a run that name `place` or an open file below it and may change something."""
    assert traced(arguments, "-o", str(log)) in (0, 1)
    numbers: Counter[str] = Counter()
    found = []
    for line in log.read_text(errors="replace").splitlines():
        name, _, rest = line.partition("(")
        numbers[name] += 1
        reads = name == "openat" and not re.search("O_CREAT|O_WRONLY|O_RDWR", rest)
        if str(place) in rest and not reads:
            found.append(Call(name, numbers[name]))
    return found


def drawn(calls: list[Call], seed: int) -> list[Call]:
    return calls if SAMPLE is None else random.Random(seed).sample(calls, min(SAMPLE, len(calls)))


def without_room(
    arguments: list[str], calls: list[Call], log: Path, seed: int
) -> Iterator[tuple[Call, str, int]]:
    """Runs the command once for each call that takes room, or for a sample, which fails: its exit code."""
    taking = [call for call in calls if call.name in NEED_ROOM]
    for number, call in enumerate(drawn(taking, seed)):
        error = NO_ROOM[number % 2]
        strike = f"inject={call.name}:error={error}:when={call.number}"
        yield call, error, traced(arguments, "-o", str(log), "-e", strike)


def killed(arguments: list[str], calls: list[Call], log: Path, seed: int) -> Iterator[Call]:
    """Runs the command once for each call, or for a sample, killed as it makes it."""
    for call in drawn(calls, seed):
        strike = f"inject={call.name}:signal=KILL:when={call.number}"
        if traced(arguments, "-o", str(log), "-e", strike) == KILLED:
            yield call


def tree(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_check_opens_nothing_for_writing(tmp_path: Path) -> None:
    """Also beside what a killed run has left, and where there is no folder yet."""
    job, place = tmp_path / "job.par", tmp_path / "place"
    job.write_text(JOB.replace("STEPS", "100"))
    place.mkdir()
    compiling = ["compile", str(job), "-o", str(place / "out")]
    for number, steps in enumerate(("100", "200")):
        job.write_text(JOB.replace("STEPS", steps))
        calls = calls_at(place, [*compiling, "--check", "--diff"], tmp_path / f"log{number}")
        assert {call.name for call in calls} <= {"flock"}
        assert number or list(place.iterdir()) == []
        assert main(compiling) == 0
        (place / "out" / ".parc-left").mkdir(exist_ok=True)


@pytest.mark.parametrize("foreign", [False, True], ids=["exchanged", "in place"])
def test_a_killed_compile_leaves_old_or_new(tmp_path: Path, foreign: bool) -> None:
    """At that moment; beside a file of somebody else, for whose sake the folder stays, after the next run."""
    job, out, old = tmp_path / "job.par", tmp_path / "place" / "out", tmp_path / "old"
    log = tmp_path / "log"
    compiling = ["compile", str(job), "-o", str(out)]
    job.write_text(JOB.replace("STEPS", "100"))
    assert main(compiling) == 0
    if foreign:
        (out / "notes.txt").write_text("of somebody else")
    shutil.copytree(out, old)
    job.write_text(JOB.replace("STEPS", "200"))
    calls = calls_at(out.parent, compiling, log)
    new = tree(out)
    assert len(calls) > 30 and {"fsync", "unlinkat"} <= {call.name for call in calls}
    struck = 0
    shutil.rmtree(out)
    shutil.copytree(old, out)
    for call in killed(compiling, calls, log, 5):
        if foreign:
            assert main(compiling) == 0 and tree(out.parent) == tree_of(new), call
        assert tree(out) in (tree(old), new), call
        struck += 1
        shutil.rmtree(out.parent)
        shutil.copytree(old, out)
    assert struck > (len(calls) if SAMPLE is None else SAMPLE) // 2
    assert main(compiling) == 0 and tree(out.parent) == tree_of(new)


def tree_of(out: dict[str, bytes]) -> dict[str, bytes]:
    """The tree of a folder that holds this one alone, and nothing that was left beside it."""
    return {f"out/{name}": content for name, content in out.items()}


def test_a_killed_fix_leaves_old_or_new(tmp_path: Path) -> None:
    script, log = tmp_path / "scripts" / "a.sh", tmp_path / "log"
    script.parent.mkdir()
    fixing = ["lint", "--fix", str(script)]
    script.write_text(BAD)
    calls = calls_at(script.parent, fixing, log)
    assert script.read_text() == FIXED and len(calls) >= 4
    script.write_text(BAD)
    struck = 0
    for call in killed(fixing, calls, log, 6):
        assert script.read_text() in (BAD, FIXED), call
        main(fixing)
        assert tree(script.parent) == {"a.sh": FIXED.encode()}
        script.write_text(BAD)
        struck += 1
    assert struck >= 3


@pytest.mark.parametrize("foreign", [False, True], ids=["exchanged", "in place"])
def test_a_compile_without_room_leaves_old_or_new(tmp_path: Path, foreign: bool) -> None:
    job, out, old = tmp_path / "job.par", tmp_path / "place" / "out", tmp_path / "old"
    compiling = ["compile", str(job), "-o", str(out)]
    job.write_text(JOB.replace("STEPS", "100"))
    assert main(compiling) == 0
    if foreign:
        (out / "notes.txt").write_text("of somebody else")
    shutil.copytree(out, old)
    job.write_text(JOB.replace("STEPS", "200"))
    calls = calls_at(out.parent, compiling, tmp_path / "log")
    new, codes = tree(out), set()
    shutil.rmtree(out)
    shutil.copytree(old, out)
    for call, error, code in without_room(compiling, calls, tmp_path / "log", 7):
        found = tree(out)
        assert not [*out.parent.rglob(".parc-*")], call
        assert code == 0 and found == new or code == 2 and found in (tree(old), new), (
            call,
            error,
            code,
        )
        codes.add(code)
        shutil.rmtree(out)
        shutil.copytree(old, out)
    assert 2 in codes
    assert main(compiling) == 0 and tree(out) == new


def test_a_fix_without_room_leaves_old_or_new(tmp_path: Path) -> None:
    script, log = tmp_path / "scripts" / "a.sh", tmp_path / "log"
    script.parent.mkdir()
    fixing = ["lint", "--fix", str(script)]
    script.write_text(BAD)
    calls = calls_at(script.parent, fixing, log)
    script.write_text(BAD)
    codes = set()
    for call, error, code in without_room(fixing, calls, log, 8):
        assert tree(script.parent) in ({"a.sh": BAD.encode()}, {"a.sh": FIXED.encode()}), (
            call,
            error,
        )
        assert code in (0, 1, 2), (call, error)
        codes.add(code)
        script.write_text(BAD)
    assert 2 in codes
    main(fixing)
    assert script.read_text() == FIXED
