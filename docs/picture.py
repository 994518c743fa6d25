"""The picture of the report in the README: the first screen of a real one, which says what plan it shows.

python -m docs.picture      # needs Chromium and playwright
"""

from __future__ import annotations

import struct
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import parc
from parc.api import Planned, plan_targets
from parc.printing.words.layouts import layout_parts
from parc.report.html import report_html
from tests.support.chromium import running_chromium

_ROOT = Path(__file__).parents[1]
JOB = _ROOT / "examples" / "llama3_70b.par"
PICTURE = _ROOT / "docs" / "report.png"
#: Pixels of the screen; the README shows it half as wide.
_WIDTH, _HEIGHT = 1280, 900
#: Milliseconds after which charts have been drawn.
_SETTLED = 1500
#: The keyword of the text in the PNG that says which plan it shows.
_KEY = b"plan"


def planned_layout() -> str:
    """The best target and its layout, which the picture must show."""
    return _words(plan_targets(parc.load(JOB)))


def _words(planned: Planned) -> str:
    best = planned.plans[0]
    return f"{best.target}: {', '.join(layout_parts(best.layout))}"


def main() -> None:
    planned = plan_targets(parc.load(JOB), keep=True, fewer=True)
    with tempfile.TemporaryDirectory() as folder, running_chromium() as browser:
        page = Path(folder) / "report.html"
        page.write_text(report_html(planned))
        view = browser.new_page(viewport={"width": _WIDTH, "height": _HEIGHT}, color_scheme="light")
        view.goto(page.as_uri())
        view.wait_for_selector("svg")
        view.wait_for_timeout(_SETTLED)
        png = view.screenshot()
    PICTURE.write_bytes(_with_text(png, _words(planned)))
    print(
        f"{PICTURE.relative_to(_ROOT)}: {PICTURE.stat().st_size / 1024:.0f} KiB, {_words(planned)}"
    )


def shown_layout() -> str:
    """The target and layout that the picture shows, by its own text."""
    for kind, data in _chunks(PICTURE.read_bytes()):
        if kind == b"tEXt" and data.startswith(_KEY + b"\0"):
            return data.partition(b"\0")[2].decode("latin-1")
    raise ValueError(f"{PICTURE.name} does not say what it shows")


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    place = 8  # behind the signature
    while place < len(png):
        (length,) = struct.unpack(">I", png[place : place + 4])
        yield png[place + 4 : place + 8], png[place + 8 : place + 8 + length]
        place += length + 12


def _with_text(png: bytes, text: str) -> bytes:
    """The PNG with one more text, right behind its header (PNG 3, 11.3.3.2)."""
    body = b"tEXt" + _KEY + b"\0" + text.encode("latin-1")
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    header = 8 + 25
    return png[:header] + chunk + png[header:]


if __name__ == "__main__":
    main()
