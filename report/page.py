"""A job's plans -> the values of the page's template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from parc.printing.plan_json import planned_json

if TYPE_CHECKING:
    from parc.api import Planned


def page_values(planned: Planned, timed: bool) -> dict[str, Any]:
    """What the template shows, and as `data` what its script draws."""
    data: Mapping[str, object] = {"planned": planned_json(planned)}
    return {"name": planned.job.name, "data": data}
