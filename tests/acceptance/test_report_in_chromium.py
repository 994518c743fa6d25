"""The page in a headless Chromium: drawn, accessible, fitting any width, light and dark, without scripts and
on paper; it tells what a pointer is at, and asks for nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.chromium import needs_chromium, running_chromium
from tests.support.reports import hostile_page, page

pytestmark = needs_chromium
READY = "html[data-ready=true]"
#: Phones, tablets, laptops and screens.
WIDTHS = (320, 360, 768, 1280, 1920)


@dataclass
class Opened:
    """A page with what it said and asked for."""

    page: Any
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


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
    found.page.goto(place.as_uri())
    found.page.wait_for_selector(READY, state="attached")
    return found


def test_charts_are_drawn_at_once_and_nothing_is_asked_for(browser: Any, tmp_path: Path) -> None:
    place = tmp_path / "r.html"
    found = opened(browser, page("llama3_70b"), place)
    sizes = found.page.evaluate("""() => [...document.querySelectorAll("#part-0 svg")]
        .map(each => each.getBoundingClientRect()).map(box => [box.width, box.height])""")
    assert len(sizes) == 4 and all(width > 900 and height > 59 for width, height in sizes)
    found.page.click("[data-part='2']")
    assert not found.page.is_visible("#part-0") and found.page.is_visible("#part-2")
    assert found.page.is_visible("text=Or run deepspeed on 64 GPUs")
    assert found.said == [] and found.asked == [place.as_uri()]


def test_without_scripts_the_page_is_whole(browser: Any, tmp_path: Path) -> None:
    place = tmp_path / "r.html"
    place.write_text(page("gpt_125m"))
    shown = browser.new_context(java_script_enabled=False).new_page()
    shown.goto(place.as_uri())
    assert not shown.is_visible("#theme") and shown.locator("#part-0 svg").count() == 4
    dots = shown.locator("#chart-landscape-0 path.dots.chosen")
    assert dots.evaluate("each => getComputedStyle(each).strokeWidth") == "13px"


def test_a_chart_has_the_colours_of_the_grouping_that_is_chosen(
    browser: Any, tmp_path: Path
) -> None:
    shown = opened(browser, page("llama3_70b"), tmp_path / "r.html").page
    chart = shown.locator("#chart-grid-0")
    assert chart.locator("g.in-0").is_visible() and not chart.locator("g.in-1").is_visible()
    chart.get_by_label("tp", exact=True).check()
    assert not chart.locator("g.in-0").is_visible() and chart.locator("g.in-1").is_visible()
    assert "tp groups of 4 GPUs" in chart.locator("p.in-1").inner_text()


def scrolled_to(shown: Any, place: Any) -> None:
    """Hides the tip, with the next frame: scrolling does."""
    place.scroll_into_view_if_needed()
    shown.evaluate(
        "() => new Promise(go => requestAnimationFrame(() => requestAnimationFrame(go)))"
    )


def at(shown: Any, chart: str, x: float, y: float) -> str:
    """What a tip says at a share of a chart's sides."""
    place = shown.locator(f"[data-figure='{chart}']")
    scrolled_to(shown, place)
    box = place.bounding_box()
    shown.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
    return str(shown.locator(".tip:visible").inner_text())


def test_a_tip_says_what_the_pointer_is_at(browser: Any, tmp_path: Path) -> None:
    shown = opened(browser, page("gpt_125m"), tmp_path / "r.html").page
    drawn = shown.locator("#chart-landscape-0 path.dots.chosen").get_attribute("d")
    x, y = (int(each) / 10_000 for each in re.findall(r"\d+", drawn)[:2])
    said = at(shown, "landscape-0", x, y)
    assert said.startswith("chosen: ") and "micro-batch 32" in said and "GiB" in said
    assert at(shown, "grid-0", 0.1, 0.01).startswith("node 0, GPU 0, rank 0")
    assert at(shown, "memory-0", 0.5, 0.9).startswith("rank 0: ")
    assert "rank 0, from 0 s" in at(shown, "timeline-0", 0.001, 0.5)


def test_a_timeline_zooms_and_pans(browser: Any, tmp_path: Path) -> None:
    shown = opened(browser, page("llama3_70b"), tmp_path / "r.html").page
    chart = shown.locator("#chart-timeline-0")
    panned = chart.locator(".panned")
    wide = "each => each.scrollWidth / each.clientWidth"
    assert panned.evaluate(wide) == pytest.approx(1, abs=0.01)
    chart.get_by_label("16×").check()
    assert panned.evaluate(wide) == pytest.approx(16, abs=0.1)
    ticks = chart.locator(".x span:visible").all_inner_texts()
    assert len(ticks) > 48 and len(set(ticks)) == len(ticks)
    panned.evaluate("each => { each.scrollLeft = each.clientWidth * 8 }")
    assert "rank 3" in at_centre(shown, "#chart-timeline-0 .panned", 3.5 / 8)


def at_centre(shown: Any, place: str, y: float) -> str:
    scrolled_to(shown, shown.locator(place))
    box = shown.locator(place).bounding_box()
    height = shown.locator(f"{place} .drawn").bounding_box()["height"]
    shown.mouse.move(box["x"] + box["width"] / 2, box["y"] + y * height)
    return str(shown.locator(".tip:visible").inner_text())


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(browser: Any, tmp_path: Path, theme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    shown = opened(browser, page("llama3_70b"), tmp_path / "r.html", color_scheme=theme).page
    shown.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    # axe asks for nothing, but it is a script that the page's policy does not name.
    found = axe.Axe().run(shown)
    assert [
        (each["id"], each["nodes"][0]["html"][:200]) for each in found.response["violations"]
    ] == []


@pytest.mark.parametrize("name", ["llama3_70b", "deepseek_v3", "gpt_125m"])
def test_a_page_fits_any_width(browser: Any, tmp_path: Path, name: str) -> None:
    """Nothing but what scrolls by itself reaches beyond the screen."""
    shown = opened(browser, page(name), tmp_path / "r.html").page
    for width in WIDTHS:
        shown.set_viewport_size({"width": width, "height": 900})
        assert shown.evaluate("document.documentElement.scrollWidth") <= width
        beyond = shown.evaluate(
            """width => [...document.querySelectorAll("main *, header *")]
            .filter(each => !each.closest(".scroll, .panned") && each.getBoundingClientRect().right > width)
            .map(each => each.outerHTML.slice(0, 100))""",
            width,
        )
        assert beyond == []


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["llama3_70b", "deepseek_v3", "gpt_125m"])
def test_the_first_screen_has_the_answers(
    browser: Any, tmp_path: Path, width: int, name: str
) -> None:
    shown = opened(browser, page(name), tmp_path / "r.html").page
    high = 740 if width <= 360 else 900
    shown.set_viewport_size({"width": width, "height": high})
    for each in (".headline", ".layout", *(f".answers div:nth-child({n}) dd" for n in range(1, 5))):
        box = shown.locator(f"[data-of='0'] {each}").first.bounding_box()
        assert box["y"] + box["height"] <= high, each


@pytest.mark.parametrize("width", [320, 768, 1280])
def test_labels_of_an_axis_do_not_overlap(browser: Any, tmp_path: Path, width: int) -> None:
    shown = opened(browser, page("deepseek_v3"), tmp_path / "r.html").page
    shown.set_viewport_size({"width": width, "height": 900})
    close = shown.evaluate("""() => [...document.querySelectorAll("#part-0 .x")].flatMap(axis => {
          const boxes = [...axis.children].map(each => each.getBoundingClientRect()).filter(box => box.width);
          boxes.sort((one, two) => one.left - two.left);
          return boxes.slice(1).filter((box, place) => box.left < boxes[place].right).length;
        })""")
    assert set(close) == {0}


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


def test_a_print_has_margins_light_colours_and_every_table(browser: Any, tmp_path: Path) -> None:
    shown = opened(browser, page("gpt_125m"), tmp_path / "r.html", color_scheme="dark").page
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = shown.evaluate(paper)
    shown.evaluate("dispatchEvent(new Event('beforeprint'))")
    shown.emulate_media(media="print")
    assert shown.evaluate(paper) == "rgb(255, 255, 255)" != dark
    assert shown.evaluate("[...document.querySelectorAll('details')].every(each => each.open)")
    assert not shown.is_visible("#theme") and not shown.is_visible(".chips")
    printed = shown.pdf(prefer_css_page_size=True)
    assert len(printed) > 20_000 and 2 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 8
    margins = shown.evaluate(
        """() => [...document.styleSheets].flatMap(sheet => [...sheet.cssRules])
        .filter(rule => rule instanceof CSSPageRule).map(rule => rule.style.margin)"""
    )
    assert margins == ["16mm 14mm"]


def test_hostile_strings_run_nothing(browser: Any, tmp_path: Path) -> None:
    found = opened(browser, hostile_page(tmp_path), tmp_path / "r.html")
    assert found.said == [] and found.page.title().endswith("· parc")
    assert found.page.locator("h1").text_content().startswith("<")
