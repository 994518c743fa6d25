"""The page of `parc serve` in Chromium: a squiggle is mended, a slider moved, variants compared, a zip compiled."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from parc.serve.links import link_of
from tests.support.paths import ROOT
from tests.support.served_page import Served, serving

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WEB = ROOT / "editors" / "web"
EDITOR = ROOT / "serve" / "page" / "editor.js"
#: Milliseconds that a solve may take on a machine which others load.
PATIENCE = 60_000
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
JOB = (ROOT / "examples" / "llama3_8b.par").read_text()
WRONG = JOB.replace("seq_len       = 8192", "seq_lem       = 8192")

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="needs Chromium")


@pytest.fixture(scope="module")
def editor() -> None:
    """The built editor, which npm builds where nobody has done so."""
    if EDITOR.is_file():
        return
    if not shutil.which("npm"):
        pytest.skip("the editor is not built, and there is no npm")
    built = subprocess.run(["make", "web"], cwd=ROOT, capture_output=True, text=True)
    if built.returncode:
        pytest.skip(f"the editor cannot be built: {built.stderr[-200:]}")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    job = tmp_path_factory.mktemp("served") / "llama3_8b.par"
    job.write_text(WRONG)
    with serving(job, "--seconds", 60) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as running:
        found = running.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield found
        found.close()


@pytest.fixture
def page(browser: Any, served: Served) -> Iterator[Any]:
    """The page, whose errors and breaches of its policy fail the test."""
    context = browser.new_context(viewport={"width": 1400, "height": 900}, accept_downloads=True)
    found = context.new_page()
    wrong: list[str] = []
    found.on("pageerror", lambda error: wrong.append(str(error)))
    found.on("console", lambda said: wrong.append(said.text) if "Security Policy" in said.text else None)
    found.goto(served.address)
    yield found
    context.close()
    assert wrong == []


def solved(page: Any) -> None:
    playwright.expect(page.locator("#state")).to_contain_text("MFU", timeout=PATIENCE)
    playwright.expect(page.locator("#text")).not_to_have_class("stale", timeout=PATIENCE)


def text_of(page: Any) -> str:
    return str(page.locator(".cm-content").evaluate("content => content.cmTile ? content.innerText : content.innerText"))


def test_a_squiggle_is_mended_a_slider_moved_and_the_zip_is_what_compile_writes(
    editor: None, page: Any, served: Served, tmp_path: Path
) -> None:
    assert served.token not in page.url
    squiggle = page.locator(".cm-lintRange-error").first
    playwright.expect(squiggle).to_have_text("seq_lem", timeout=PATIENCE)
    playwright.expect(page.locator("#state.error")).to_contain_text("seq_lem", timeout=PATIENCE)
    squiggle.hover()
    page.get_by_role("button", name="did you mean `seq_len`?").click()
    solved(page)
    playwright.expect(page.locator(".cm-lintRange-error")).to_have_count(0)
    playwright.expect(page.locator("#complaints")).to_be_empty()

    page.get_by_role("tab", name="Text").click()
    solved(page)
    before = page.locator("#text").inner_text()
    assert "megatron" in before and "8,192 tokens" in before
    slider = page.locator('input[name="train.seq_len"]')
    slider.focus()
    slider.press("ArrowLeft")
    playwright.expect(page.locator(".cm-content")).to_contain_text("seq_len       = 4096")
    playwright.expect(page.locator("#text")).to_contain_text("4,096 tokens", timeout=PATIENCE)
    solved(page)

    with page.expect_download(timeout=PATIENCE) as download:
        page.get_by_role("button", name="Download zip").click()
    download.value.save_as(tmp_path / "files.zip")
    assert download.value.suggested_filename == "llama3_8b.zip"
    (tmp_path / "llama3_8b.par").write_text(JOB.replace("8192", "4096", 1))
    command = ["parc", "compile", "llama3_8b.par", "-o", "out"]
    subprocess.run(
        [shutil.which("python3") or "python3", "-c", "pass"], check=True, capture_output=True
    )
    from parc.__main__ import main

    assert main([*command[1:2], str(tmp_path / "llama3_8b.par"), "-o", str(tmp_path / "out")]) == 0
    archive = zipfile.ZipFile(tmp_path / "files.zip")
    written = {
        path.relative_to(tmp_path / "out").as_posix(): path.read_bytes()
        for path in (tmp_path / "out").rglob("*")
        if path.is_file()
    }
    assert {name: archive.read(name) for name in archive.namelist()} == written
