"""Reports, made once, and what they hold: elements, text, the paths of charts, and the JSON of their tips."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import parc
from parc.api import Planned, plan_targets
from parc.report.html import report_html
from tests.support.paths import ROOT


@cache
def solved(name: str) -> Planned:
    """The plans of an example."""
    return plan_targets(parc.load(ROOT / "examples" / f"{name}.par"))


#: In the name of a job and in a comment of it; a file's name has no slash, so it ends no element.
HOSTILE = '</script><img src=x onerror="document.title=1">{{ 7*7 }}"\''
REASON = "<b>&amp;</script><script>alert(1)</script>"


def hostile_page(folder: Path) -> str:
    """The report of a job, written to a folder, whose name, reasons and comments are HTML and script."""
    text = (ROOT / "examples" / "gpt_125m.par").read_text()
    text = text.replace("goal {", f'goal {{\n  require pp <= 4 : "{REASON}"')
    place = folder / f"{HOSTILE.replace('/', '')}.par"
    place.write_text(f"# {HOSTILE}\n{text}")
    return report_html(plan_targets(parc.load(place)))


@cache
def page(name: str) -> str:
    """The report of an example."""
    return report_html(solved(name))


@dataclass
class Read:
    """Elements in order with their attributes, the text outside scripts and styles, and the page's data."""

    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    text: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    charts: dict[str, list[dict[str, str | None]]] = field(default_factory=dict)

    def named(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.elements if tag == name]

    def rectangles(self, chart: str, name: str) -> list[tuple[int, ...]]:
        """Left, top, width and height of the rectangles of a chart's path, by its classes."""
        return [piece for piece in self.pieces(chart, name) if len(piece) == 4]

    def pieces(self, chart: str, name: str) -> list[tuple[int, ...]]:
        """The numbers of each subpath: of a dot its place, of a rectangle its width and height as well."""
        (text,) = (each["d"] or "" for each in self.charts[chart] if each["class"] == name)
        found = re.findall(r"M(\d+) (\d+)h(\d+)(?:v(\d+))?", text)
        return [tuple(int(each) for each in piece[: 4 if piece[3] else 2]) for piece in found]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.read = Read()
        self.raw: list[str] = []
        self.inside: str | None = None
        self.chart: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.read.elements.append((tag, dict(attrs)))
        if key := dict(attrs).get("data-figure"):
            self.chart = self.read.charts.setdefault(key, [])
        if tag == "path":
            self.chart.append(dict(attrs))
        if tag in ("script", "style"):
            self.inside, self.raw = dict(attrs).get("id") or tag, []

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            if self.inside == "data":
                self.read.data = json.loads("".join(self.raw))
            self.inside = None

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.raw.append(data)
        else:
            self.read.text += data


def read(page: str) -> Read:
    """What a browser would make of a page."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return reader.read
