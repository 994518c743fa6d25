"""A layout in one line."""

from collections.abc import Mapping

from ..plan import OFFLOAD, RECOMPUTE
from ..variables import ORDER


def layout_text(layout: Mapping[str, int]) -> str:
    """The decisions of a layout, neutral values left out."""
    words = {"recompute": RECOMPUTE, "offload": OFFLOAD}
    shown = [
        name
        for name in ORDER
        if layout[name] not in (0, 1) or name in ("tp", "pp") or name in words
    ]
    values = {name: words[name][layout[name]] if name in words else layout[name] for name in shown}
    return " · ".join(f"{name} {value}" for name, value in values.items() if value != "none")
