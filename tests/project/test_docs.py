"""What the README and docs/ show is true: commands are run and their output compared, jobs are read."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import parc
from docs import picture
from parc.dsl.diagnostics import Source
from parc.dsl.syntax.parser import parse
from tests.support import simulated_logs
from tests.support.fences import Fence, fences
from tests.support.newcomer import PAGES, commands
from tests.support.paths import ROOT

DOCUMENTS = [
    *sorted(ROOT.glob("*.md")),
    *sorted(
        path
        for path in (ROOT / "docs").rglob("*.md")
        if path.relative_to(ROOT / "docs").parts[0] != "rules"  # written by `make docs`
    ),
]
#: Commands that a reader runs once, to set up; they are not run here.
SETUP = ("make ", "git ", "pip ", "cd ")
#: Folders of the tree, and how a module in one of them is named.
ROOMS = sorted(path.parent.name for path in ROOT.glob("*/__init__.py"))
PATH = re.compile(r'(?<!New file `)(?<![\w/."-])(?:' + "|".join(ROOMS) + r")/[\w/*.-]*\.py\b")
TIMING = re.compile(r"\b\d+\.\d\d s\b")
ALL_BLOCKS = ("model", "cluster", "train")
LONGEST_README = 1200


def fenced(path: Path, language: str) -> list[Fence]:
    return [fence for fence in fences(path.read_text()) if fence.language == language]


def written(room: str) -> list[Path]:
    """The documents and modules below a folder that people write."""
    files = [*(ROOT / room).rglob("*.md"), *(ROOT / room).rglob("*.py")]
    return [file for file in files if "golden" not in file.parts]


def steps(block: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with the output that is shown below it."""
    pieces = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [(command, output) for command, _, output in (piece.partition("\n") for piece in pieces)]


def run(command: str, folder: Path) -> str:
    result = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return result.stdout


def steady(text: str) -> str:
    """The text without what differs between runs: times of solving, blanks at line ends."""
    return "\n".join(line.rstrip() for line in TIMING.sub("N s", text).strip().splitlines())


def record_logs(folder: Path) -> None:
    """The runs of the example, whose logs no repository should hold: job.par and logs/."""
    (folder / "logs").mkdir()
    simulated_logs.record(folder / "logs", ("tp1", "tp2", "spread", "fsdp"))
    (folder / "logs" / "job.par").rename(folder / "job.par")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_commands_print_what_is_shown(path: Path, tmp_path: Path, update: bool) -> None:
    if path.relative_to(ROOT).as_posix() in PAGES and not update:
        # test_newcomer.py types and compares all of them.
        typed = [line for line, _ in commands(path.relative_to(ROOT).as_posix())]
        fenced_here = fenced(path, "console")
        assert typed == [line for fence in fenced_here for line, _ in steps(fence.text)] != []
        return
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    if path.name == "calibrate.md":
        record_logs(tmp_path)
    document, shift = path.read_text(), 0
    for fence in fenced(path, "console"):
        text = ""
        for command, shown in steps(fence.text):
            output = shown if command.startswith(SETUP) else run(command, tmp_path)
            if not update:
                assert steady(output) == steady(shown), f"{path.name}: $ {command}"
            text += f"$ {command}\n{output if steady(output) != steady(shown) else shown}"
        if update and text != fence.text:
            start, end = fence.start + shift, fence.end + shift
            document, shift = document[:start] + text + document[end:], shift + len(text) - len(
                fence.text
            )
    if update:
        path.write_text(document)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_jobs_can_be_read(path: Path, tmp_path: Path) -> None:
    """A whole job must load; a fragment must at least be well formed."""
    for number, fence in enumerate(fenced(path, "par")):
        if all(re.search(rf"^{block}\b", fence.text, re.MULTILINE) for block in ALL_BLOCKS):
            job = tmp_path / f"{number}.par"
            job.write_text(fence.text)
            parc.load(job)
        else:
            _, complaints = parse(Source(path.name, fence.text))
            assert not complaints, "\n".join(map(str, complaints))


#: What shows jobs: blocks of the language, and commands that print one.
SHOWN = [
    *((path.name, fence) for path in DOCUMENTS for fence in fenced(path, "par")),
    *((path.name, fence) for path in DOCUMENTS for fence in fenced(path, "console")),
]


def test_no_job_trains_on_made_up_data_without_saying_so() -> None:
    """Every block of a framework that readers may copy names its data, or says `data = synthetic`."""
    shown = [
        (name, block)
        for name, fence in SHOWN
        for block in re.findall(r"^target (?!plan\b)\w+ *\{[^}]*\}?", fence.text, re.MULTILINE)
    ]
    assert len(shown) > 8
    assert [each for each in shown if not re.search(r"\bdata = ", each[1])] == []


def anchors(page: Path) -> set[str]:
    """What a link to a heading of the page may name, as GitHub makes it of the heading."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", line.lower()).strip().replace(" ", "-") for line in headings}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target, _, anchor in re.findall(r"\]\(([^)#:]*)(#([^)]*))?\)", path.read_text()):
        page = path.parent / target if target else path
        assert page.exists(), f"{path.name} links to {target}"
        if anchor and page.suffix == ".md":
            assert anchor in anchors(page), f"{path.name} links to {target}#{anchor}"


def test_files_that_are_named_exist() -> None:
    """A path below one of the tree's folders, in a document or a comment; NAME is any name."""
    named = {
        path.replace("NAME", "*")
        for file in [*ROOT.glob("*.md"), *(file for room in ROOMS for file in written(room))]
        for path in PATH.findall(file.read_text())
    }
    assert [path for path in sorted(named) if not any(ROOT.glob(path))] == []


def test_the_readme_lists_every_target() -> None:
    from parc.backends import BACKENDS, LAUNCHERS

    readme = (ROOT / "README.md").read_text()
    table = {row.split("`")[1] for row in readme.splitlines() if row.startswith("| `")}
    assert table >= {*BACKENDS, *LAUNCHERS}


def test_the_page_of_examples_lists_every_one() -> None:
    page = (ROOT / "examples" / "README.md").read_text()
    listed = set(re.findall(r"\]\((\w+\.par)\)", page))
    assert listed == {example.name for example in (ROOT / "examples").glob("*.par")}


def test_the_readme_is_short() -> None:
    """Words with a letter or a digit, what commands print included."""
    words = [word for word in (ROOT / "README.md").read_text().split() if re.search(r"\w", word)]
    assert len(words) < LONGEST_README


def test_the_picture_shows_todays_plan() -> None:
    """`python -m docs.picture` draws it again."""
    assert picture.shown_layout() == picture.planned_layout()
    assert picture.PICTURE.stat().st_size < 200 * 1024
