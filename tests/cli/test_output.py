"""The output folder changes as a whole or not at all, and what parc did not write stays."""

from __future__ import annotations

import errno
import json
import os
import signal
from pathlib import Path

import pytest

from parc.dsl.diagnostics import JobError
from parc.writing.output_folder import MANIFEST, changes, manifest, write

OLD = {"a.sh": "one\n", "b/b.json": "{}\n", "b/c.txt": "c\n"}
NEW = {"a.sh": "two\n", "b/b.json": "{}\n", "d/d.txt": "d\n"}


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


class Failing:
    """Makes the n-th call of a method fail, once."""

    def __init__(self, patch: pytest.MonkeyPatch, name: str, call: int, error: BaseException):
        self.calls, self.call, self.error = 0, call, error
        original = getattr(Path, name)

        def wrapper(path: Path, *args: object, **kwargs: object) -> object:
            self.calls += 1
            if self.calls == self.call:
                raise self.error
            return original(path, *args, **kwargs)

        patch.setattr(Path, name, wrapper)


FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("call", [1, 2, 3])
@pytest.mark.parametrize("name", ["write_bytes", "rename", "mkdir"])
def test_a_full_disk_leaves_the_old_output_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, call: int
) -> None:
    out = tmp_path / "out"
    put(out, OLD)
    with monkeypatch.context() as patch:
        failing = Failing(patch, name, call, FULL)
        with pytest.raises(JobError, match="no space left on device") as caught:
            put(out, NEW)
    assert failing.calls >= call
    assert caught.value.diagnostics[0].code == "PAR090"
    assert tree(out) == with_manifest(OLD)
    assert {path.name for path in out.iterdir()} == {"a.sh", "b", MANIFEST}


@pytest.mark.parametrize("name", ["write_bytes", "rename"])
def test_a_failure_in_a_new_place_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    with monkeypatch.context() as patch:
        Failing(patch, name, 2, FULL)
        with pytest.raises(JobError):
            put(tmp_path / "deep" / "out", OLD)
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_while_staging_leaves_the_old_output_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, OLD)
    with monkeypatch.context() as patch:
        Failing(patch, "write_bytes", 2, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            put(tmp_path, NEW)
    assert tree(tmp_path) == with_manifest(OLD)


def test_ctrl_c_while_renaming_waits_until_all_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, OLD)
    rename = Path.rename

    def pressed(path: Path, target: Path) -> Path:
        os.kill(os.getpid(), signal.SIGINT)
        return rename(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", pressed)
        with pytest.raises(KeyboardInterrupt):
            put(tmp_path, NEW)
    assert tree(tmp_path) == with_manifest(NEW)


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
