"""The page of `parc serve` in Chromium: a squiggle is mended, a slider moved, variants compared, a zip
compiled."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from parc.__main__ import main
from parc.serve.links import link_of
from tests.support.chromium import needs_chromium, running_chromium
from tests.support.paths import ROOT
from tests.support.served_page import Served, serving

#: Milliseconds that a solve may take on a machine which others load.
PATIENCE = 60_000
#: What a test asks for from within a report, where the policy refuses it.
TRIED = "/api/opened"
JOB = (ROOT / "examples" / "llama3_8b.par").read_text()
WRONG = JOB.replace("seq_len       = 8192", "seq_lem       = 8192")

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
pytestmark = needs_chromium


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    job = tmp_path_factory.mktemp("served") / "llama3_8b.par"
    job.write_text(WRONG)
    with serving(job, "--seconds", 60) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with running_chromium() as found:
        yield found


@pytest.fixture
def page(browser: Any, served: Served) -> Iterator[Any]:
    """The page, whose errors and breaches of its policy fail the test."""
    context = browser.new_context(viewport={"width": 1400, "height": 900}, accept_downloads=True)
    found = context.new_page()
    wrong: list[str] = []
    found.on("pageerror", lambda error: wrong.append(str(error)))
    found.on(
        "console",
        lambda said: (
            wrong.append(said.text) if "Policy" in said.text and TRIED not in said.text else None
        ),
    )
    found.goto(served.address)
    yield found
    context.close()
    assert wrong == []


def solved(page: Any) -> None:
    playwright.expect(page.locator("#state")).to_contain_text("solved", timeout=PATIENCE)
    playwright.expect(page.locator("#text")).not_to_have_class("stale", timeout=PATIENCE)


def test_a_squiggle_is_mended_a_slider_moved_and_the_zip_is_what_compile_writes(
    page: Any, served: Served, tmp_path: Path
) -> None:
    assert served.token not in page.url
    squiggle = page.locator(".cm-lintRange-error", has_text="seq_lem").first
    playwright.expect(page.locator("#complaints")).to_contain_text("line 9", timeout=PATIENCE)
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
    assert main(["compile", str(tmp_path / "llama3_8b.par"), "-o", str(tmp_path / "out")]) == 0
    archive = zipfile.ZipFile(tmp_path / "files.zip")
    written = {
        path.relative_to(tmp_path / "out").as_posix(): path.read_bytes()
        for path in (tmp_path / "out").rglob("*")
        if path.is_file()
    }
    assert {name: archive.read(name) for name in archive.namelist()} == written


def test_the_report_is_shown_in_a_frame_that_can_ask_nothing(page: Any, served: Served) -> None:
    page.goto(link_of(JOB, f"{served.origin}/"))
    page.reload()
    solved(page)
    frame = page.frame_locator("#report")
    playwright.expect(frame.get_by_role("heading", name="llama3_8b")).to_be_visible(
        timeout=PATIENCE
    )
    inner = next(each for each in page.frames if "/report/" in each.url)
    assert inner.evaluate("() => window.origin") == "null"
    reached = "url => fetch(url).then(() => true, () => false)"
    assert inner.evaluate(reached, f"{served.origin}{TRIED}") is False
    assert (
        inner.evaluate("() => { try { return !!parent.document } catch { return false } }") is False
    )


def test_a_second_variant_is_compared(page: Any, served: Served) -> None:
    page.goto(link_of(JOB, f"{served.origin}/"))
    page.reload()
    solved(page)
    page.get_by_role("button", name="+ B").click()
    slider = page.locator('input[name="train.seq_len"]')
    slider.focus()
    slider.press("ArrowLeft")
    page.get_by_role("tab", name="A and B").click()
    table = page.locator("#compare")
    playwright.expect(table).to_contain_text("--seq-length  8192 → 4096", timeout=PATIENCE)
    page.get_by_role("button", name="A", exact=True).click()
    playwright.expect(page.locator(".cm-content")).to_contain_text("seq_len       = 8192")


def test_a_link_carries_the_job(page: Any, served: Served) -> None:
    page.goto(link_of(JOB.replace("100G", "200G"), f"{served.origin}/"))
    page.reload()
    playwright.expect(page.locator(".cm-content")).to_contain_text("200G", timeout=PATIENCE)
    page.get_by_role("button", name="Copy link").click()
    playwright.expect(page.locator("#state")).to_contain_text("the link is", timeout=PATIENCE)
    copied = page.url
    assert served.token not in copied
    page.goto("about:blank")
    page.goto(copied)
    playwright.expect(page.locator(".cm-content")).to_contain_text("200G", timeout=PATIENCE)
    page.goto("about:blank")
    page.goto(f"{served.origin}/#job=AAAA")
    playwright.expect(page.locator(".cm-content")).to_contain_text("seq_lem", timeout=PATIENCE)


def test_words_are_completed_and_explained(page: Any, served: Served) -> None:
    page.goto(link_of(JOB, f"{served.origin}/"))
    page.reload()
    solved(page)
    key = page.locator(".cm-line", has_text="learning_rate").locator("span").first
    key.hover()
    playwright.expect(page.locator(".meaning")).to_contain_text("highest of the schedule")
    page.locator(".cm-line", has_text="learning_rate").click()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.keyboard.type("prec")
    offered = page.locator(".cm-tooltip-autocomplete")
    playwright.expect(offered).to_contain_text("precision")
    page.wait_for_timeout(200)
    page.keyboard.press("Enter")
    page.keyboard.type(" = fp8")
    playwright.expect(page.locator(".cm-content")).to_contain_text("precision = fp8")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 768, 1280, 1920])
def test_the_page_fits_any_width_and_axe_finds_nothing(
    browser: Any, served: Served, width: int, theme: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    size = {"width": width, "height": 740 if width == 360 else 900}
    context = browser.new_context(viewport=size, color_scheme=theme, bypass_csp=True)
    page = context.new_page()
    page.goto(served.address)
    page.goto(link_of(JOB, f"{served.origin}/"))
    page.reload()
    solved(page)
    for view in ["job", "report", "text"] if width < 761 else ["report", "text"]:
        page.locator(f"#tab-{view}").click()
        solved(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate("document.documentElement.scrollHeight") <= size["height"]
        for name in ("Copy link", "Download zip", "Format"):
            box = page.get_by_role("button", name=name).bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= width, name
        violations = axe.Axe().run(page).response["violations"]
        assert [(each["id"], each["nodes"][0]["html"][:200]) for each in violations] == []
    context.close()


def test_a_phone_shows_the_answers_above_the_job(browser: Any, served: Served) -> None:
    context = browser.new_context(viewport={"width": 360, "height": 740})
    page = context.new_page()
    page.goto(served.address)
    page.goto(link_of(JOB, f"{served.origin}/"))
    page.reload()
    solved(page)
    said = page.locator("#answers")
    playwright.expect(said.get_by_role("heading")).to_have_text("Run megatron on 8 GPUs")
    for wanted in ("How fast", "a step", "How sure", "±", "Will it fit", "GiB"):
        playwright.expect(said).to_contain_text(wanted)
    playwright.expect(page.locator(".cm-content")).to_be_visible()
    page.locator("#tab-report").click()
    playwright.expect(page.locator(".cm-content")).not_to_be_visible()
    playwright.expect(page.frame_locator("#report").locator(".headline").first).to_be_in_viewport()
    context.close()


def test_the_report_is_light_or_dark_as_the_page_is(page: Any, served: Served) -> None:
    page.goto(link_of(JOB, f"{served.origin}/"))
    page.reload()
    solved(page)
    frame = page.frame_locator("#report")
    playwright.expect(frame.locator("#theme")).to_be_hidden()
    paper = "getComputedStyle(document.body).backgroundColor"
    for name in ("Dark", "Light"):
        page.get_by_role("button", name=name).click()
        playwright.expect(frame.locator(f"html[data-theme={name.lower()}]")).to_be_attached()
        inner = next(each for each in page.frames if "/report/" in each.url)
        assert inner.evaluate(paper) == page.evaluate(paper)


def test_the_page_works_without_its_editor(browser: Any, served: Served) -> None:
    context = browser.new_context()
    context.route("**/page/editor.js", lambda route: route.abort())
    page = context.new_page()
    page.goto(served.address)
    playwright.expect(page.locator("#unbuilt")).to_contain_text("make web", timeout=PATIENCE)
    page.get_by_label("the job").fill(JOB)
    solved(page)
    page.locator('input[name="train.seq_len"]').press("ArrowLeft")
    assert "seq_len       = 4096" in page.get_by_label("the job").input_value()
    context.close()
