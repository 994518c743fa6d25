"""Files are read in bounded time: regular ones, of bounded size, below the folders that were named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from parc.__main__ import main
from parc.backends.launch_files import read_jobs
from parc.dsl.inputs.files import MOST_BYTES, Binary, NotReadable, TooLarge, text_of
from parc.reading.named_folders import NamedFolders

TRAINING = "torchrun a.py --num-layers ${LAYERS:-24} --hidden-size 8\n"


def test_texts_and_what_is_none(tmp_path: Path) -> None:
    (tmp_path / "latin.sh").write_bytes(b"\xef\xbb\xbf# " + "é\nA=1\n".encode("latin-1"))
    assert text_of(tmp_path / "latin.sh") == "# \ufffd\nA=1\n"
    (tmp_path / "large.sh").write_bytes(b"#" * (MOST_BYTES + 1))
    with pytest.raises(TooLarge, match="it has 4,194,305 bytes, at most 4,194,304 are read"):
        text_of(tmp_path / "large.sh")
    (tmp_path / "binary.sh").write_bytes(b"\x7fELF\n\0\0")
    with pytest.raises(Binary, match="a zero byte in line 2"):
        text_of(tmp_path / "binary.sh")
    with pytest.raises(FileNotFoundError):
        text_of(tmp_path / "missing.sh")


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.sh")
    for path in (tmp_path, tmp_path / "pipe.sh", Path("/dev/zero")):
        with pytest.raises(NotReadable, match="not a regular file"):
            text_of(path)
    with pytest.raises(NotReadable, match="^it is written by the kernel"):
        text_of("/proc/self/environ")


def test_only_files_below_the_named_folders_are_read(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret.sh").write_text("LAYERS=1\n")
    (inside / "link.sh").symlink_to(tmp_path / "secret.sh")
    (inside / "own.sh").write_text("LAYERS=2\n")
    (inside / "own-link.sh").symlink_to(inside / "own.sh")
    os.mkfifo(inside / "pipe.sh")
    folder = NamedFolders(inside)
    outside = (str(tmp_path / "secret.sh"), "../secret.sh", "link.sh", "pipe.sh", "/dev/zero")
    for name in (*outside, "missing.sh", "/etc/passwd"):
        job = read_jobs({"job.sh": f"source {name}\n{TRAINING}"}, folder=folder)[0]
        assert set(job.texts) == {"job.sh"} and len(job.unread) == 1, name
    job = read_jobs({"job.sh": f"source own-link.sh\n{TRAINING}"}, folder=folder)[0]
    assert job.value("layers") == 2
    assert "regular" in folder.refused["pipe.sh"] and "outside" in folder.refused["link.sh"]
    assert "missing.sh" not in folder.refused


@pytest.mark.parametrize("given", ["jobs/train.sh", "jobs", "{}/jobs/train.sh"])
def test_lint_follows_what_is_below_the_current_folder(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = tmp_path / "here"
    (here / "jobs").mkdir(parents=True)
    (here / "common.sh").write_text("LAYERS=2\n")
    (here / "jobs" / "train.sh").write_text(f"source ../common.sh\n{TRAINING}")
    monkeypatch.chdir(here)
    assert main(["lint", "--facts", given.format(here)]) == 0
    assert "layers                 2" in capsys.readouterr().out


def test_lint_says_which_files_it_does_not_follow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    here.mkdir()
    elsewhere.mkdir()
    (tmp_path / "secret.sh").write_text("LAYERS=1\n")
    (elsewhere / "common.sh").write_text("LAYERS=3\n")
    text = f"source common.sh\nsource {tmp_path}/secret.sh\n{TRAINING}"
    (elsewhere / "train.sh").write_text(text)
    monkeypatch.chdir(here)
    main(["lint", "--facts", str(elsewhere / "train.sh")])
    printed = capsys.readouterr().out
    assert "layers                 3" in printed
    assert f"it lies outside of the folders that were named ({tmp_path}/secret.sh:1)" in printed


def test_named_pipes_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.sh")
    (tmp_path / "job.par").write_text('import "pipe.sh"\n')
    for command in (["lint", "pipe.sh"], ["import", "pipe.sh"], ["check", "job.par"]):
        assert main(command) in (1, 2)
        assert "`pipe.sh` is not a regular file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("readme", "there"),
    [
        ("First:\n\n```bash\nmkdir -p data logs/train\n```\n", True),
        ("mkdir -p logs/trainer\n", False),
        ("Logs are in logs/train.\n", False),
    ],
)
def test_a_folder_that_a_readme_says_to_make_counts_as_there(
    tmp_path: Path, readme: str, there: bool
) -> None:
    (tmp_path / "slurm").mkdir()
    (tmp_path / "README.md").write_text(readme)
    folders = NamedFolders(tmp_path)
    assert folders.has_folder("logs/train", "slurm/job.sh") is there
