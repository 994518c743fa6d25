"""`parc report`, and the report in the folder of `parc compile`, as a user runs them."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from parc.dsl.diagnostics import Diagnostic, JobError
from parc.report.html import OURS
from parc.report.markdown import OURS_MARKDOWN, marked
from tests.support.command_line import IMPOSSIBLE, JOB, Parc, tree
from tests.support.paths import ROOT
from tests.support.reports import read


def test_a_page_is_written_over_one_and_over_nothing_else(run: Parc) -> None:
    for more in ((), ()):
        found = run("report", "job.par", "-o", "r.html", *more)
        assert found.code == 0 and "r.html" in found.out, found.err
    assert Path("r.html").read_text().startswith(OURS)
    Path("r.html").write_text("mine")
    found = run("report", "job.par", "-o", "r.html")
    assert found.code == 2 and "PAR091" in found.err and Path("r.html").read_text() == "mine"
    assert run("report", "job.par", "-o", "r.html", "--force").code == 0


def test_the_page_is_named_for_the_job(run: Parc) -> None:
    assert run("report", "job.par").code == 0
    assert Path("job.html").read_text().startswith(OURS)


def test_a_page_that_is_up_to_date_is_not_solved_again(
    run: Parc, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise JobError([Diagnostic("PAR000", "solved again")])

    Path("job.par").write_text(JOB)
    assert run("compile", "job.par", "-o", "out").code == 0
    page = Path("out/report.html")
    drawn = page.read_bytes()
    report = ("report", "job.par", "-o", str(page))
    with monkeypatch.context() as patched:
        patched.setattr("parc.api.plan_targets", refused)
        assert run(*report).out == f"{page}: up to date\n"
        for changed in ("--set=train.global_batch=64", "--target=megatron", "--force"):
            assert "solved again" in run(*report, changed).err
        page.write_bytes(drawn.replace(b"</footer>", b"!</footer>"))
        assert "solved again" in run(*report).err
    assert "KB" in run(*report, "--target=megatron").out
    assert run(*report, "--target=megatron").out == f"{page}: up to date\n"
    assert "KB" in run(*report).out


def test_a_page_that_compile_drew_is_copied(run: Parc, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of this job and these targets, alone or among others; not one that somebody else put there."""

    def refused(*_: object, **__: object) -> None:
        raise JobError([Diagnostic("PAR000", "solved again")])

    Path("two.par").write_text(JOB.replace("1024", "2048"))
    assert run("compile", "job.par", "two.par", "-o", "out").code == 0
    monkeypatch.setattr("parc.api.plan_targets", refused)
    for name in ("job", "two"):
        drawn = Path(f"out/{name}/report.html")
        said = run("report", f"{name}.par", "-o", "r.html")
        assert said.out == f"r.html: copied from {drawn}, which shows this job\n", said.err
        assert Path("r.html").read_bytes() == drawn.read_bytes()
        assert run("report", f"{name}.par", "-o", "r.html").out == "r.html: up to date\n"
    assert "solved again" in run("report", "two.par", "-o", "r.html", "--target=megatron").err
    drawn.write_bytes(drawn.read_bytes().replace(b"</footer>", b"!</footer>"))
    assert "solved again" in run("report", "two.par", "-o", "other.html").err


def test_only_the_targets_that_are_asked_for(run: Parc) -> None:
    assert run("report", "job.par", "-o", "r.html", "--target", "torchtitan").code == 0
    plans = read(Path("r.html").read_text()).data["planned"]["plans"]
    assert [plan["target"] for plan in plans] == ["torchtitan"]


def test_a_target_without_a_plan_is_named(run: Parc) -> None:
    Path("some.par").write_text(JOB.replace("8; ffn", "8; kv_heads = 3; ffn"))
    found = run("report", "some.par", "-o", "r.html")
    assert found.code in (1, 2) and not Path("r.html").exists()
    Path("none.par").write_text(IMPOSSIBLE)
    assert run("report", "none.par", "-o", "r.html").code == 1 and not Path("r.html").exists()


def test_markdown_goes_to_standard_output_or_into_a_file(run: Parc) -> None:
    out = run("report", "job.par", "--markdown").out
    plan = json.loads(run("plan", "job.par", "--json").out)["plans"][0]
    assert out.startswith(OURS_MARKDOWN) and f"MFU: **{100 * plan['mfu']:.1f} %**" in out
    assert f"{plan['proof']['layouts']:,} layouts were priced" in out
    tables = [line for line in out.splitlines() if line.startswith("| ")]
    assert len(tables) > 10
    assert run("report", "job.par", "--markdown", "-o", "R.md").code == 0

    def untimed(text: str) -> str:
        return re.sub(r"took [\d.]+ s", "took", text)

    assert untimed(Path("R.md").read_text()) == untimed(out)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a|b", r"a\|b"),
        ("<script>", r"\<script\>"),
        ("`x` *y*\n# z", r"\`x\` \*y\* # z"),
        ("@team #12", "@\u200bteam #\u200b12"),
    ],
)
def test_markdown_shows_a_text_as_it_is(text: str, wanted: str) -> None:
    assert marked(text) == wanted


def test_compile_writes_both_as_part_of_the_folder(run: Parc) -> None:
    command = ("compile", "job.par", "-o", "out")
    assert run(*command, "--no-report").code == 0
    bare = tree(Path("out"))
    assert run(*command, "--check").code == 1
    assert run(*command).code == 0
    full = tree(Path("out"))
    assert full.keys() - bare.keys() == {"report.html", "REPORT.md"}
    listed = json.loads(full["plan.json"])
    for name in ("report.html", "REPORT.md"):
        assert listed["files"][name] == sha256(full[name]).hexdigest()
    data = read(full["report.html"].decode()).data["planned"]
    assert data["plans"] == listed["plans"] and data["job"] == listed["job"]
    assert run(*command, "--report", "--check").code == 0
    assert run(*command, "--no-report").code == 0 and tree(Path("out")) == bare


def test_a_page_in_a_diff_is_told_in_a_line(run: Parc) -> None:
    shown = run("compile", "job.par", "-o", "out", "--diff").out.splitlines()
    assert [line for line in shown if line.startswith("Files ")] == [
        "Files /dev/null and b/report.html differ"
    ]
    assert max(map(len, shown)) < 10_000 and any("REPORT.md" in line for line in shown)


def test_an_edited_report_is_not_lost(run: Parc) -> None:
    command = ("compile", "job.par", "-o", "out")
    assert run(*command).code == 0
    with Path("out/REPORT.md").open("a") as file:
        file.write("my note\n")
    found = run(*command)
    assert found.code == 2 and "PAR084" in found.err
    assert Path("out/REPORT.md").read_text().endswith("my note\n")


def test_each_of_several_jobs_has_its_own(run: Parc) -> None:
    Path("two.par").write_text(JOB)
    assert run("compile", "job.par", "two.par", "-o", "out").code == 0
    assert {str(path) for path in Path("out").glob("*/report.html")} == {
        "out/job/report.html",
        "out/two/report.html",
    }


def test_where_it_is_left_out_nothing_of_it_is_loaded(tmp_path: Path) -> None:
    code = (
        "import sys; from parc.__main__ import main; main(['compile', "
        "'examples/gpt_125m.par', '-o', sys.argv[1], '--no-report']); assert not [m for m in sys.modules if "
        "m.startswith('parc.report')]"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "out")]
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True)


def test_a_folder_without_room_keeps_what_it_had(
    run: Parc, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("report", "job.par", "-o", "r.html", "--target", "megatron").code == 0
    assert run("compile", "job.par", "-o", "out", "--no-report").code == 0
    before, folder = Path("r.html").read_bytes(), tree(Path("out"))

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("parc.writing.folder.new_file", full)
    found = run("report", "job.par", "-o", "r.html", "--target", "torchtitan")
    assert found.code == 2 and "PAR090" in found.err and "no space left" in found.err
    assert Path("r.html").read_bytes() == before
    found = run("compile", "job.par", "-o", "out")
    assert found.code == 2 and "no space left" in found.err and tree(Path("out")) == folder
    assert "make room" in found.err and "MFU" in found.out, "the plans are not lost"


@pytest.mark.parametrize(
    "command",
    [
        ("report", "job.par", "-o", "locked/r.html"),
        ("trace", "job.par", "-o", "locked/t.json"),
        ("compile", "job.par", "-o", "locked/out"),
        ("compile", "job.par", "-o", "locked"),
    ],
)
def test_a_folder_without_permission_is_told_before_anything_is_solved(
    command: tuple[str, ...], run: Parc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may write anywhere: what the system says of a folder is said for it."""
    Path("locked").mkdir(mode=0o500)

    def access(place: str | Path, mode: int) -> bool:
        return bool(Path(place).stat().st_mode & 0o200) or not mode & os.W_OK

    def plan_targets(*_: object, **__: object) -> None:
        raise AssertionError("was solved")

    monkeypatch.setattr(os, "access", access)
    monkeypatch.setattr("parc.api.plan_targets", plan_targets)
    found = run(*command)
    assert found.code == 2 and "PAR090" in found.err and "cannot be written" in found.err
    assert tree(Path("locked")) == {}


def test_a_page_that_cannot_be_is_refused_before_anything_is_solved(run: Parc) -> None:
    for place in ("nowhere/r.html", "."):
        found = run("report", "job.par", "-o", place)
        assert found.code == 2 and "PAR090" in found.err
    assert run("report", "job.par", "-o", "").code == 2
