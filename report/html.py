"""A job's plans -> one HTML file: charts, proof and source, with every script and style inside it."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from markupsafe import Markup

from .page import page_values

if TYPE_CHECKING:
    from jinja2 import Environment

    from parc.api import Planned

#: Begins every report that parc writes.
OURS = "<!doctype html>\n<!-- written by parc report -->\n"


def report_html(planned: Planned, *, timed: bool = True) -> str:
    """The report of a job of which at least one target has a plan, as one self-contained HTML text.

    `timed`: with the seconds that each proof took, which differ from run to run; without them the same plans
    give the same text.
    """
    values = page_values(planned, timed)
    program = _text("report.js")
    return OURS + _environment().get_template("report.html.j2").render(
        **{**values, "data": Markup(_embedded(values["data"]))},
        style=Markup(f"{colours()}{_text('report.css')}"),
        program=Markup(program),
        policy=_policy(program),
    )


def colours() -> str:
    """The style sheet of the colours that the report and the page of `parc serve` share."""
    return _text("colours.css")


def _policy(program: str) -> str:
    """The content security policy: the page's script by its digest, and nothing from anywhere."""
    return (
        f"default-src 'none'; script-src 'sha256-{_digest(program)}'; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'"
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

    from parc.backends.languages.compiled_templates import CompiledTemplates

    return Environment(
        loader=PackageLoader("parc.templates", "report"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        bytecode_cache=CompiledTemplates(),
    )


def _text(name: str) -> str:
    """A file that is no template: a style or a script with no values in it."""
    return (resources.files("parc.templates") / "report" / name).read_text(encoding="utf-8")
