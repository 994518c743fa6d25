"""The output folder changes as a whole or not at all, and what parc did not write stays."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
from functools import partial
from pathlib import Path

import pytest

from parc.dsl.diagnostics import JobError
from parc.writing import folder
from parc.writing.output_folder import MANIFEST, changes, manifest, write
from tests.cli.interrupted_calls import (
    DONE,
    RAISED,
    WENT_ON,
    ended,
    failures,
    kill,
    kills,
    started,
)
from tests.support.small_process import in_a_small_process

OLD = {"a.sh": "one\n", "b/b.json": "{}\n", "b/c.txt": "c\n"}
NEW = {"a.sh": "two\n", "b/b.json": "{}\n", "d/d.txt": "d\n"}


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda number: None)


def with_manifest(files: dict[str, str]) -> dict[str, str]:
    return {**files, MANIFEST: json.dumps({"files": manifest(files)})}


def put(folder: Path, files: dict[str, str], parts: tuple[str, ...] = ("",)) -> None:
    write(folder, changes(folder, with_manifest(files), parts), scripts=["a.sh"])


def tree(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_writes_what_is_wanted_and_removes_its_own_leftovers(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    put(out, OLD)
    assert tree(out) == with_manifest(OLD)
    assert os.access(out / "a.sh", os.X_OK) and not os.access(out / "b/b.json", os.X_OK)
    put(out, NEW)
    assert tree(out) == with_manifest(NEW)
    assert changes(out, with_manifest(NEW)) == []


def test_an_unchanged_file_is_not_written_again(tmp_path: Path) -> None:
    put(tmp_path, OLD)
    before = (tmp_path / "b/b.json").stat()
    put(tmp_path, NEW)
    after = (tmp_path / "b/b.json").stat()
    assert (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino)


def test_foreign_files_are_left_alone(tmp_path: Path) -> None:
    put(tmp_path, OLD)
    (tmp_path / "b/mine.txt").write_text("mine")
    (tmp_path / "empty").mkdir()
    put(tmp_path, {"a.sh": "two\n"})
    assert tree(tmp_path) == {**with_manifest({"a.sh": "two\n"}), "b/mine.txt": "mine"}
    assert (tmp_path / "empty").is_dir()


def test_an_edited_leftover_is_not_removed(tmp_path: Path) -> None:
    put(tmp_path, OLD)
    (tmp_path / "b/c.txt").write_text("edited by hand")
    put(tmp_path, NEW)
    assert (tmp_path / "b/c.txt").read_text() == "edited by hand"


@pytest.mark.parametrize("foreign", ["a.sh", MANIFEST, "b"])
def test_a_foreign_file_in_the_way_is_refused(tmp_path: Path, foreign: str) -> None:
    (tmp_path / foreign).write_text("mine")
    with pytest.raises(JobError) as caught:
        put(tmp_path, OLD)
    assert caught.value.diagnostics[0].code == "PAR091"
    assert tree(tmp_path) == {foreign: "mine"}


def test_a_folder_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.sh").mkdir()
    with pytest.raises(JobError, match="not written by parc"):
        put(tmp_path, OLD)


def test_a_manifest_cannot_reach_outside(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("v")
    digest = manifest({"x": "v"})["x"]
    out = tmp_path / "out"
    out.mkdir()
    files = {"../victim": digest, str(victim): digest}
    (out / MANIFEST).write_text(json.dumps({"files": files}))
    put(out, NEW)
    assert victim.read_text() == "v"


def test_an_output_that_is_a_file_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_text("a file")
    with pytest.raises(JobError, match="is a file"):
        put(out, OLD)
    with pytest.raises(JobError, match="PAR090"):
        put(out / "below", OLD)
    assert out.read_text() == "a file"


FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


#: A file of somebody else, for whose sake a folder is not exchanged.
FOREIGN = {"b/mine.txt": "mine"}


def set_up(out: Path, before: dict[str, str], foreign: dict[str, str]) -> None:
    shutil.rmtree(out.parent, ignore_errors=True)
    out.parent.mkdir()
    for name, text in foreign.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(text)
    if before:
        put(out, before)


def leftovers(folder: Path) -> list[Path]:
    return [*folder.rglob(".parc-*")]


@pytest.mark.parametrize(
    ("before", "after"), [({}, False), (OLD, False), (OLD, True)], ids=["new", "before", "after"]
)
@in_a_small_process
def test_a_folder_of_parcs_own_is_old_or_new_whichever_call_is_the_last(
    tmp_path: Path, before: dict[str, str], after: bool
) -> None:
    """At that moment, and the next run succeeds and leaves nothing else there."""
    states = [with_manifest(before) if before else {}, with_manifest(NEW)]
    seen, out = [], tmp_path / "place" / "out"
    set_up(out, before, {})
    for _ in kills(lambda: put(out, NEW), after):
        seen.append(states.index(tree(out)))
        put(out, NEW)
        assert tree(out) == with_manifest(NEW) and not leftovers(tmp_path)
        assert os.access(out / "a.sh", os.X_OK)
        set_up(out, before, {})
    assert len(seen) > 40 and seen == sorted(seen) and set(seen) == {0, 1}


@pytest.mark.parametrize("following", [NEW, OLD], ids=["on", "back"])
@pytest.mark.parametrize("before", [{}, OLD], ids=["new", "before"])
@in_a_small_process
def test_a_folder_with_files_of_others_is_whole_after_the_next_run(
    tmp_path: Path, before: dict[str, str], following: dict[str, str]
) -> None:
    """Whichever call is the last: that run takes nothing for edited, and neither `--check` writes."""
    out, half = tmp_path / "place" / "out", 0
    set_up(out, before, FOREIGN)
    for _ in kills(lambda: put(out, NEW)):
        now = tree(out)
        assert not [each for each in changes(out, with_manifest(following)) if each.edited]
        assert tree(out) == now
        kept = {name: text for name, text in now.items() if not name.startswith(".parc-")}
        half += kept not in (
            {**with_manifest(before), **FOREIGN},
            {**with_manifest(NEW), **FOREIGN},
        )
        put(out, following)
        assert tree(out) == {**with_manifest(following), **FOREIGN} and not leftovers(tmp_path)
        set_up(out, before, FOREIGN)
    assert half > 3


@pytest.mark.parametrize("foreign", [{}, FOREIGN], ids=["exchanged", "in place"])
@pytest.mark.parametrize("error", [errno.EDQUOT, errno.EACCES])
@in_a_small_process
def test_an_error_of_any_call_leaves_old_or_new(
    tmp_path: Path, error: int, foreign: dict[str, str]
) -> None:
    out = tmp_path / "place" / "out"
    set_up(out, OLD, foreign)
    codes = []
    for code in failures(lambda: put(out, NEW), OSError(error, os.strerror(error))):
        codes.append(code)
        wanted = {**with_manifest(OLD if code == RAISED else NEW), **foreign}
        found = {name: text for name, text in tree(out).items() if not name.startswith(".parc-")}
        assert found == wanted, len(codes)
        set_up(out, OLD, foreign)
    assert set(codes) == {RAISED, WENT_ON, DONE}
    assert codes.count(RAISED) > 20 or (error == errno.EACCES and not foreign)


@in_a_small_process
def test_a_failure_in_a_new_place_leaves_nothing(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    for code in failures(lambda: put(out, OLD), FULL):
        if code != RAISED:
            break
        assert list(tmp_path.iterdir()) == []
    assert code == WENT_ON and tree(out) == with_manifest(OLD)


def test_ctrl_c_while_renaming_waits_until_all_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_up(tmp_path / "place", OLD, FOREIGN)
    replace = os.replace

    def pressed(old: str, new: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        replace(old, new, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", pressed)
        with pytest.raises(KeyboardInterrupt):
            put(tmp_path / "place", NEW)
    assert tree(tmp_path / "place") == {**with_manifest(NEW), **FOREIGN}


def test_an_edited_file_is_not_replaced(tmp_path: Path) -> None:
    put(tmp_path, OLD)
    (tmp_path / "a.sh").write_text("edited by hand")
    with pytest.raises(JobError, match="has been edited since parc wrote it") as caught:
        put(tmp_path, NEW)
    assert caught.value.diagnostics[0].code == "PAR084"
    edited = {change.path: change.edited for change in changes(tmp_path, with_manifest(NEW))}
    assert edited == {"a.sh": True, "b/c.txt": False, "d/d.txt": False, MANIFEST: False}
    write(tmp_path, changes(tmp_path, with_manifest(NEW)), ["a.sh"], force=True)
    assert tree(tmp_path) == with_manifest(NEW)


def test_a_link_in_the_way_is_refused(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "b.json").write_text("mine")
    for link, target in (("b", victim), ("a.sh", victim / "b.json")):
        out = tmp_path / f"out-{link}"
        out.mkdir()
        (out / link).symlink_to(target)
        with pytest.raises(JobError, match="PAR091"):
            put(out, OLD)
    assert tree(victim) == {"b.json": "mine"}


def test_a_script_that_lost_its_mode_is_mended(tmp_path: Path) -> None:
    put(tmp_path, OLD)
    (tmp_path / "a.sh").chmod(0o640)
    found = changes(tmp_path, with_manifest(OLD), scripts=["a.sh"])
    assert [change.path for change in found] == ["a.sh"]
    write(tmp_path, found, ["a.sh"])
    assert (tmp_path / "a.sh").stat().st_mode & 0o777 == 0o751
    assert changes(tmp_path, with_manifest(OLD), scripts=["a.sh"]) == []


def test_a_second_writer_waits_and_then_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "PATIENCE", 0.2)
    out = tmp_path / "out"
    for to_write in (True, False):
        with folder.locked(out, True), pytest.raises(JobError, match="PAR085"):
            put(out, OLD) if to_write else changes(out, with_manifest(OLD))
    put(out, OLD)
    assert tree(out) == with_manifest(OLD)


@in_a_small_process
def test_concurrent_writers_leave_one_of_their_folders(tmp_path: Path) -> None:
    """200 processes, two jobs: each ends, or is told that another one writes."""
    wanted, out = [OLD, NEW], tmp_path / "out"
    alive = [started(partial(put, out, wanted[n % 2]), kill, at=10**9) for n in range(200)]
    codes = [ended(pid) for pid in alive]
    assert set(codes) <= {DONE, RAISED} and DONE in codes
    assert tree(out) in [with_manifest(files) for files in wanted]


def test_several_jobs_own_their_subfolders(tmp_path: Path) -> None:
    first = {f"x/{path}": text for path, text in with_manifest(OLD).items()}
    second = {f"y/{path}": text for path, text in with_manifest(NEW).items()}
    write(tmp_path, changes(tmp_path, {**first, **second}, ["x/", "y/"]))
    assert tree(tmp_path) == {**first, **second}
    fewer = {f"x/{path}": text for path, text in with_manifest(NEW).items()}
    write(tmp_path, changes(tmp_path, fewer, ["x/"]))
    assert tree(tmp_path) == {**fewer, **second}


def test_the_diff_is_unified(tmp_path: Path) -> None:
    put(tmp_path, OLD)
    found = {change.path: change for change in changes(tmp_path, with_manifest(NEW))}
    assert found["a.sh"].diff() == "--- a/a.sh\n+++ b/a.sh\n@@ -1 +1 @@\n-one\n+two\n"
    assert found["d/d.txt"].diff().startswith("--- /dev/null\n+++ b/d/d.txt\n")
    assert found["b/c.txt"].diff().endswith("+++ /dev/null\n@@ -1 +0,0 @@\n-c\n")
    assert {change.kind for change in found.values()} == {"add", "change", "remove"}
