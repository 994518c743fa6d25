"""The plotting library's script, packed to be carried by a page."""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass
from functools import cache
from importlib import resources

from parc.dsl.diagnostics import Diagnostic, JobError

from .codes import NO_PLOTLY

#: zlib's fastest: its middle makes a report of 2.7 MB smaller by 0.3 MB, for 0.2 s more.
LEVEL = 1
HELP = "parc needs it: pip install plotly; `parc compile --no-report` goes without"


@dataclass(frozen=True)
class Script:
    """A script's text, and the same text as base64 of a zlib stream."""

    text: str
    packed: str


def is_installed(packed: str) -> bool:
    """Whether a packed script is that of the installed plotly, whatever zlib has packed it."""
    wanted = plotly_packed().text.encode()
    try:
        unpacker = zlib.decompressobj()
        return unpacker.decompress(base64.b64decode(packed), len(wanted) + 1) == wanted
    except (ValueError, zlib.error):
        return False


@cache
def plotly_packed() -> Script:
    """plotly.js of the installed plotly. Raises `JobError` where there is none."""
    try:
        content = (resources.files("plotly") / "package_data" / "plotly.min.js").read_bytes()
    except (ModuleNotFoundError, FileNotFoundError):
        message = "a report is drawn with `plotly`, which is not installed"
        raise JobError([Diagnostic(NO_PLOTLY, message, help=HELP)]) from None
    packed = zlib.compress(content, LEVEL)
    return Script(content.decode(), base64.b64encode(packed).decode())
