"""For GitHub Actions: workflow commands that become annotations of a pull request."""

from collections.abc import Sequence

from ...dsl.diagnostics import one_line
from ..finding import Finding
from ..judging import Judged, findings
from .grouped import position
from .summary import summary

_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}


def github(judged: Sequence[Judged]) -> str:
    return "\n".join([*(_command(found) for found in findings(judged)), one_line(summary(judged))])


def _command(found: Finding) -> str:
    path, line, column = position(found)
    said = found.diagnostic
    help_text = f"\nhelp: {one_line(said.help)}" if said.help else ""
    properties = f"file={_property(one_line(path))},line={line},col={column}"
    title = _property(f"{found.code} {found.name}")
    message = _data(one_line(said.message) + help_text)
    return f"::{_COMMANDS[found.severity]} {properties},title={title}::{message}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
