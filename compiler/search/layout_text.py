"""A layout in one line, and a quantity with its unit."""

from collections.abc import Mapping

from ..plan import OFFLOAD, RECOMPUTE
from ..variables import ORDER

GIB = 2**30


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


def quantity_text(name: str, value: float) -> str:
    """`memory 71.8 GiB`: a quantity of a goal, of a value in base units."""
    shown = {
        "memory": lambda: f"{value / GIB:.1f} GiB",
        "days": lambda: f"{value / 86400:.1f} d",
        "step_time": lambda: f"{value:.3g} s",
        "cost": lambda: f"{value:,.0f} $",
        "energy": lambda: f"{value / 3.6e9:,.1f} MWh",
        "gpus": lambda: f"{value:,.0f}",
        "nodes": lambda: f"{value:,.0f}",
        "tokens_per_second": lambda: f"{value:,.0f}/s",
    }
    return f"{name} {shown[name]() if name in shown else f'{100 * value:.1f} %'}"
