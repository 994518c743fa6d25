"""For GitHub Actions: workflow commands that become annotations of a pull request."""

from collections.abc import Sequence

from ..finding import Finding
from ..judging import Judged, findings
from .text import position, summary

_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}


def github(judged: Sequence[Judged]) -> str:
    return "\n".join([*(_command(found) for found in findings(judged)), summary(judged)])


def _command(found: Finding) -> str:
    path, line, column = position(found)
    help_text = f"\nhelp: {found.diagnostic.help}" if found.diagnostic.help else ""
    properties = f"file={_property(path)},line={line},col={column}"
    title = _property(f"{found.code} {found.name}")
    message = _data(found.diagnostic.message + help_text)
    return f"::{_COMMANDS[found.severity]} {properties},title={title}::{message}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
