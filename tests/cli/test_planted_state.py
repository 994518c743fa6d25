"""A repository brings what only parc writes, and links, pipes and second names in each place: no command
writes, removes or tells anything outside of the output folder, nor in Git's, and none waits for ever.
"""

from __future__ import annotations

import os
import shutil
import signal
import stat
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from parc import api, own_files, resuming
from parc.__main__ import main
from parc.dsl.job import Job
from tests.support.planted_state import COMMON, SECRET, Planted, journals, manifests, ways

JOB = """
model m from std.gpt_125m {}
cluster c from std.a100_pod { nodes = 1 }
train { seq_len = 1024; global_batch = 64; steps = 5000 }
target deepspeed { data = synthetic }
"""
COMMANDS = [(), ("--check",), ("--check", "--diff"), ("--force",)]
KINDS = {"journals": journals(), "manifests": manifests(), "ways": ways()}
CASES = [(kind, each) for kind, some in KINDS.items() for each in some]
#: Seconds after which a command is taken to wait for ever.
LIMIT = 20
#: What parc itself may write into a repository that is its output folder.
OWN = ("plan.json", "REPORT.md", "report.html", "deepspeed", "slurm")


@pytest.mark.parametrize("kind", KINDS)
def test_there_are_enough_of_each_kind(kind: str) -> None:
    assert len({each.name for each in KINDS[kind]}) == len(KINDS[kind]) > 30


@pytest.fixture(autouse=True, scope="module")
def _solved_once() -> Iterator[None]:
    """The job is solved, its files are made, read and judged once, and each command takes the answers: what
    is tested is what becomes of them on the disk, without waiting for it."""
    solve, emit, doubtful = api.plan_targets, api.emit, own_files.doubtful
    plans, emitted, doubts = dict[str, Any](), dict[str, Any](), dict[str, Any]()
    side, sides = resuming.side_of_plan, dict[str, Any]()

    def plan_targets(job: Job, *given: Any, **options: Any) -> Any:
        if job.digest not in plans:
            plans[job.digest] = solve(job, *given, **options)
        return plans[job.digest]

    def emit_once(planned: api.Planned) -> Any:
        if planned.job.digest not in emitted:
            emitted[planned.job.digest] = emit(planned)
        made, files = emitted[planned.job.digest]
        return made, replace(files, files=dict(files.files))

    def doubtful_once(files: Mapping[str, str]) -> Any:
        key = repr(sorted(files.items()))
        if key not in doubts:
            doubts[key] = doubtful(files)
        return list(doubts[key])

    def side_once(name: str, target: str, plan: Mapping[str, Any], files: Mapping[str, str]) -> Any:
        key = repr((name, target, plan, sorted(files.items())))
        if key not in sides:
            sides[key] = side(name, target, plan, files)
        return sides[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda number: None)
        patch.setattr(resuming, "side_of_plan", side_once)
        patch.setattr(api, "plan_targets", plan_targets)
        patch.setattr(api, "emit", emit_once)
        patch.setattr(own_files, "doubtful", doubtful_once)
        yield


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's home, and beside it a repository with a job and its output folder of an earlier run."""
    place = tmp_path_factory.mktemp("written")
    for name, text in {
        "home/.ssh/id": SECRET,
        "home/LICENSE": COMMON,
        "home/new/notes": "notes\n",
        "repo/.git/HEAD": COMMON,
        "repo/.git/config": COMMON,
        "repo/.git/hooks/pre-push": "#!/bin/sh\n",
        "repo/README": COMMON,
        "repo/job.par": JOB,
    }.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    assert (
        main(["compile", str(place / "repo/job.par"), "-o", str(place / "repo/out"), "--no-report"])
        == 0
    )
    (place / "repo/job.par").write_text(JOB.replace("5000", "6000"))
    return place


def snapshot(place: Path) -> dict[str, tuple[int, float, str | bytes]]:
    """Mode, time of the last change and content of everything."""
    found: dict[str, tuple[int, float, str | bytes]] = {}
    for root, folders, files in os.walk(place):
        for path in (Path(root, name) for name in (*folders, *files)):
            status = path.lstat()
            held: str | bytes = os.readlink(path) if path.is_symlink() else b""
            if stat.S_ISREG(status.st_mode):
                held = path.read_bytes()
            time = 0.0 if stat.S_ISDIR(status.st_mode) else status.st_mtime
            found[str(path.relative_to(place))] = (status.st_mode, time, held)
    return found


def outside(found: dict[str, tuple[int, float, str | bytes]], output: str) -> dict[str, object]:
    """What is not in the output folder, or not parc's own in one that is a whole repository."""
    inside = [f"repo/{name}" for name in OWN] if output == "." else [f"repo/{output}".rstrip("/")]
    return {
        name: each
        for name, each in found.items()
        if not any(name == own or name.startswith(f"{own}/") for own in inside)
        or "git" in name.casefold().removeprefix(f"repo/{output}")
    }


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    ("kind", "case"), CASES, ids=[f"{kind}: {each.name}" for kind, each in CASES]
)
def test_nothing_outside_is_touched(
    kind: str,
    case: Planted,
    command: tuple[str, ...],
    written: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    place = tmp_path / "p"
    shutil.copytree(written, place, symlinks=True)
    case.plant(place / "repo")
    monkeypatch.chdir(place / "repo")
    monkeypatch.setenv("HOME", str(place / "home"))
    before = snapshot(place)
    signal.alarm(LIMIT)
    code = main(["compile", "job.par", "-o", case.output, "--no-report", *command])
    signal.alarm(0)
    told, after = "".join(capfd.readouterr()), snapshot(place)
    assert code in (0, 1, 2) and SECRET.strip() not in told and "Traceback" not in told
    assert outside(after, case.output) == outside(before, case.output)
    if "--check" in command:
        assert after == before
