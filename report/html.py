"""A job's plans -> one HTML file: charts, proof and source, with every script and style inside it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from markupsafe import Markup

from .page import page_values
from .plotting import plotly_packed

if TYPE_CHECKING:
    from jinja2 import Environment

    from parc.api import Planned

_BASE64 = re.compile("[A-Za-z0-9+/=]*")
#: Begins every report that parc writes.
OURS = "<!doctype html>\n<!-- written by parc report -->\n"


def report_html(planned: Planned, *, timed: bool = True) -> str:
    """The report of a job of which at least one target has a plan, as one self-contained HTML text.

    `timed`: with the seconds that each proof took, which differ from run to run; without them the same plans
    give the same text. Raises `JobError` where plotly is not installed.
    """
    script = plotly_packed()
    values = page_values(planned, timed)
    style, program = _text("report.css"), _text("report.js")
    return OURS + _environment().get_template("report.html.j2").render(
        **{**values, "data": Markup(_embedded(values["data"]))},
        style=Markup(style),
        program=Markup(program),
        plotly=Markup(script.packed),
        policy=_policy(program, script.text),
    )


def plotly_of(page: str, ours: str) -> str | None:
    """The packed script of plotly in a page that is ours in all else; None where it is not."""
    script = plotly_packed()
    head, digest, rest = ours.partition(_digest(script.text))
    middle, packed, tail = rest.partition(script.packed)
    theirs = page[len(head) : len(head) + len(digest)]
    found = page[len(head) + len(digest) + len(middle) : len(page) - len(tail)]
    if page != f"{head}{theirs}{middle}{found}{tail}" or not _BASE64.fullmatch(theirs + found):
        return None
    return found


def _policy(program: str, plotly: str) -> str:
    """The content security policy: the page's two scripts by their digests, and nothing from anywhere."""
    allowed = " ".join(f"'sha256-{_digest(text)}'" for text in (program, plotly))
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _embedded(data: Mapping[str, object]) -> str:
    """JSON that cannot end the element that holds it, whatever a name in it says."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


@cache
def _environment() -> Environment:
    """Jinja with autoescape: each value is escaped for HTML, except what this module marks as safe."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("parc.templates", "report"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _text(name: str) -> str:
    """A file that is no template: a style or a script with no values in it."""
    return (resources.files("parc.templates") / "report" / name).read_text(encoding="utf-8")
