"""`lint --fix`, `import -o` and `calibrate -o` change one file, whole or not at all, and no other."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from parc.__main__ import main
from parc.dsl.diagnostics import JobError
from parc.writing.single_file import replace, rewrite
from tests.cli.interrupted_calls import RAISED, failures, kills
from tests.support.small_process import in_a_small_process

BAD = "#!/bin/bash\n#SBATCH --time=01:00:00\nset -e\n#SBATCH --nodes=2\nsrun hostname\n"
FIXED = "#!/bin/bash\n#SBATCH --time=01:00:00\n#SBATCH --nodes=2\nset -e\nsrun hostname\n"


def fix(*paths: Path) -> int:
    return main(["lint", "--fix", *map(str, paths)])


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@in_a_small_process
def test_a_kill_or_an_error_at_any_call_leaves_old_or_new(tmp_path: Path) -> None:
    path = tmp_path / "a.sh"
    path.write_bytes(b"old")
    for _ in kills(lambda: rewrite(path, b"old", b"new")):
        now = path.read_bytes()
        assert now in (b"old", b"new")
        rewrite(path, now, b"next")
        assert names(tmp_path) == {"a.sh"}
        path.write_bytes(b"old")
    for code in failures(
        lambda: rewrite(path, b"old", b"new"), OSError(errno.ENOSPC, "no space left on device")
    ):
        assert path.read_bytes() == (b"old" if code == RAISED else b"new")
        path.write_bytes(b"old")
    assert names(tmp_path) == {"a.sh"}


def test_the_file_behind_a_link_is_mended(tmp_path: Path) -> None:
    (tmp_path / "real.sh").write_text(BAD)
    (tmp_path / "real.sh").chmod(0o754)
    (tmp_path / "link.sh").symlink_to("real.sh")
    fix(tmp_path / "link.sh", tmp_path / "real.sh")
    assert (tmp_path / "link.sh").is_symlink()
    assert (tmp_path / "real.sh").read_text() == FIXED
    assert stat.S_IMODE((tmp_path / "real.sh").stat().st_mode) == 0o754


def test_no_guessable_name_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "a.sh").write_text(BAD)
    (tmp_path / ".a.sh.parc").symlink_to("victim")
    fix(tmp_path / "a.sh")
    assert (tmp_path / "a.sh").read_text() == FIXED
    assert (tmp_path / "victim").read_text() == "mine"


def test_a_file_of_two_names_is_left_and_the_others_are_mended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.sh").write_text(BAD)
    (tmp_path / "b.sh").write_text(BAD)
    os.link(tmp_path / "a.sh", tmp_path / "elsewhere")
    assert fix(tmp_path / "a.sh", tmp_path / "b.sh") == 2
    assert (tmp_path / "a.sh").read_text() == BAD
    assert (tmp_path / "b.sh").read_text() == FIXED
    assert "has another name" in capsys.readouterr().err


def test_what_a_killed_writer_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    """A file that is locked stays, and one whose name parc has not drawn for this folder and user."""
    from parc.writing.durable import new_file
    from parc.writing.temporary import new_name

    live, dead, moved = new_name(tmp_path), new_name(tmp_path), new_name(tmp_path / "elsewhere")
    number = os.open(tmp_path, os.O_RDONLY)
    with new_file(live, number, b"x"):
        others = {".parc-0123456789abcdef-0123456789abcdef", ".parc-.tmp", moved}
        for name in (dead, *others):
            (tmp_path / name).write_bytes(b"x")
        assert replace(tmp_path / "a.par", "text")
        assert names(tmp_path) == {live, "a.par", *others}
    os.close(number)


def test_a_changed_file_is_left(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text("meanwhile")
    with pytest.raises(JobError, match="has changed meanwhile"):
        rewrite(tmp_path / "a.sh", b"before", b"after")


def test_import_follows_no_dangling_link(tmp_path: Path) -> None:
    script = tmp_path / "train.sh"
    script.write_text(
        "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 8 --hidden-size 64\n"
    )
    (tmp_path / "job.par").symlink_to(tmp_path / "victim")
    assert main(["import", str(script), "-o", str(tmp_path / "job.par")]) == 2
    assert not (tmp_path / "victim").exists()
