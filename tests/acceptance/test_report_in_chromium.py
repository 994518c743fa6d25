"""The page in a headless Chromium: it draws, hovers, asks for nothing, is accessible and fits any width."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from parc.report.plotting import plotly_packed
from tests.support.chromium import needs_chromium, running_chromium
from tests.support.reports import hostile_page, page

pytestmark = needs_chromium
READY = "html[data-ready=true]"
#: How many times as long as the plotting library alone a page may take until its numbers are read and what is
#: in view is drawn.
TIMES = 3


@dataclass
class Opened:
    """A page with what it said and asked for, and the seconds until it was drawn."""

    page: Any
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    seconds: float = 0.0


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with running_chromium() as found:
        yield found


def opened(browser: Any, text: str, place: Path, **more: Any) -> Opened:
    place.write_text(text)
    found = Opened(browser.new_page(**more))
    found.page.on("console", lambda each: found.said.append(each.text))
    found.page.on("pageerror", lambda each: found.said.append(str(each)))
    found.page.on("request", lambda each: found.asked.append(each.url))
    began = time.monotonic()
    found.page.goto(place.as_uri())
    found.page.wait_for_selector(READY, state="attached")
    found.seconds = time.monotonic() - began
    return found


def draw_all(page: Any) -> None:
    """Scrolls to each figure that is shown, and waits until it is drawn."""
    for each in page.query_selector_all(".plot"):
        if each.is_visible():
            each.scroll_into_view_if_needed()
            each.wait_for_selector(".main-svg", state="attached")


def test_figures_are_drawn_and_nothing_is_asked_for(browser: Any, tmp_path: Path) -> None:
    place = tmp_path / "r.html"
    found = opened(browser, page("llama3_70b"), place)
    draw_all(found.page)
    assert found.page.locator(".plot .main-svg").count() >= 7
    found.page.click("[data-part='2']")
    assert not found.page.is_visible("#part-0") and found.page.is_visible("#part-2")
    draw_all(found.page)
    found.page.click("#part-2 [data-grid] button >> nth=0")
    assert found.said == [] and found.asked == [place.as_uri()]


def test_a_page_is_open_soon(browser: Any, tmp_path: Path) -> None:
    """Beside a page that has the plotting library draw one point, the best of five of each, in turns."""
    bare = (
        f"<!doctype html><title>bare</title><script>{plotly_packed().text}</script>"
        "<div id='plot'></div><script>Plotly.newPlot('plot', [{y: [1]}])"
        ".then(() => { document.documentElement.dataset.ready = 'true' })</script>"
    )
    texts = (page("deepseek_v3"), bare)
    turns = [
        [opened(browser, text, tmp_path / "r.html").seconds for text in texts] for _ in range(5)
    ]
    ours, library = (min(seconds) for seconds in zip(*turns, strict=True))
    print(f"open after {ours:.2f} s, the library alone after {library:.2f} s")
    assert ours < TIMES * library


def test_hovering_tells_the_layout_of_a_point(browser: Any, tmp_path: Path) -> None:
    shown = opened(browser, page("gpt_125m"), tmp_path / "r.html").page
    draw_all(shown)
    point = shown.locator("#plot-landscape-0 .scatterlayer .trace").last.locator("path.point")
    point.scroll_into_view_if_needed()
    box = point.bounding_box()
    shown.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    shown.wait_for_selector("#plot-landscape-0 .hoverlayer text", state="attached")
    text = shown.locator("#plot-landscape-0 .hoverlayer").text_content()
    assert "chosen" in text and "micro-batch 32" in text
    shown.locator("#plot-grid-0").hover(position={"x": 300, "y": 60})
    shown.wait_for_selector("#plot-grid-0 .hoverlayer text", state="attached")
    assert "rank" in shown.locator("#plot-grid-0 .hoverlayer").text_content()


def test_a_timeline_zooms(browser: Any, tmp_path: Path) -> None:
    shown = opened(browser, page("llama3_70b"), tmp_path / "r.html").page
    draw_all(shown)
    reach = "document.getElementById('plot-timeline-0')._fullLayout.xaxis.range[1]"
    before = shown.evaluate(reach)
    shown.locator("#plot-timeline-0").scroll_into_view_if_needed()
    box = shown.locator("#plot-timeline-0 .nsewdrag").first.bounding_box()
    shown.mouse.move(box["x"] + 100, box["y"] + 40)
    shown.mouse.down()
    shown.mouse.move(box["x"] + 300, box["y"] + 40, steps=5)
    shown.mouse.up()
    until = time.monotonic() + 10
    while (now := shown.evaluate(reach)) > 0.8 * before and time.monotonic() < until:
        shown.wait_for_timeout(50)
    assert 0 < now <= 0.8 * before


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(browser: Any, tmp_path: Path, theme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    shown = opened(browser, page("llama3_70b"), tmp_path / "r.html", color_scheme=theme).page
    draw_all(shown)
    shown.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    # axe asks for nothing, but it is a script that the page's policy does not name.
    found = axe.Axe().run(shown)
    assert [
        (each["id"], each["nodes"][0]["html"][:200]) for each in found.response["violations"]
    ] == []


@pytest.mark.parametrize("name", ["llama3_70b", "deepseek_v3", "gpt_125m"])
def test_a_page_fits_any_width(browser: Any, tmp_path: Path, name: str) -> None:
    shown = opened(browser, page(name), tmp_path / "r.html").page
    for width in (320, 768, 1280, 2560):
        shown.set_viewport_size({"width": width, "height": 900})
        draw_all(shown)
        assert shown.evaluate("document.documentElement.scrollWidth") <= width
        for each in shown.query_selector_all(".plot .main-svg"):
            assert (box := each.bounding_box()) is None or box["x"] + box["width"] <= width


def test_no_number_is_cut_on_a_narrow_screen(browser: Any, tmp_path: Path) -> None:
    """Labels of figures end before their figure does."""
    shown = opened(browser, page("llama3_70b"), tmp_path / "r.html").page
    shown.set_viewport_size({"width": 320, "height": 900})
    draw_all(shown)
    beyond = shown.evaluate(
        """() => [...document.querySelectorAll("#part-0 .plot .annotation-text")]
        .filter(text => text.getBoundingClientRect().right
            > text.closest(".plot").getBoundingClientRect().right + 1)
        .map(text => text.textContent)"""
    )
    assert shown.locator("#part-0 .plot .annotation-text").count() > 8 and beyond == []


def test_the_theme_is_that_of_the_system_until_it_is_chosen(browser: Any, tmp_path: Path) -> None:
    shown = opened(browser, page("gpt_125m"), tmp_path / "r.html", color_scheme="dark").page
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = shown.evaluate(paper)
    shown.click("#theme")
    light = shown.evaluate(paper)
    shown.emulate_media(color_scheme="light")
    assert dark != light == shown.evaluate(paper)
    shown.emulate_media(color_scheme="dark")
    assert shown.evaluate(paper) == light


def test_a_print_has_every_figure_of_the_target_that_is_shown(browser: Any, tmp_path: Path) -> None:
    shown = opened(browser, page("gpt_125m"), tmp_path / "r.html", color_scheme="dark").page
    shown.evaluate("dispatchEvent(new Event('beforeprint'))")
    for each in shown.query_selector_all(".plot"):
        if each.is_visible():
            each.wait_for_selector(".main-svg", state="attached")
    assert shown.evaluate("document.documentElement.dataset.theme") == "light"
    assert len(shown.pdf()) > 50_000
    shown.evaluate("dispatchEvent(new Event('afterprint'))")
    assert shown.evaluate("document.documentElement.dataset.theme") == "dark"


def test_hostile_strings_run_nothing(browser: Any, tmp_path: Path) -> None:
    found = opened(browser, hostile_page(tmp_path), tmp_path / "r.html")
    draw_all(found.page)
    assert found.said == [] and found.page.title().endswith("· parc")
    assert found.page.locator("h1").text_content().startswith("<")
