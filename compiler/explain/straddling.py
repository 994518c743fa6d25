"""A layout on a cluster -> its groups that leave their fast domain, and what the step's traffic would take if
they stayed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...dsl.hardware import Cluster
from ..plan import Estimate, Layout
from ..time.rank_groups import Groups, Straddling, filled_domain, straddling

if TYPE_CHECKING:
    from ..case import Case


@dataclass(frozen=True)
class Leaving:
    """Groups of a kind of which some lie on more than one domain: `size` ranks, `stride` apart. `domains` is
    the most that one lies on."""

    kind: str
    size: int
    stride: int
    groups: Straddling
    domains: int

    @property
    def uneven(self) -> bool:
        """Whether they leave because the domain is no multiple of them, and not because they fill several."""
        return bool(self.size * self.stride % self.groups.domain)

    @property
    def fitting(self) -> int | None:
        """The largest part of a domain that holds whole groups; None where a domain holds none."""
        return self.groups.domain // (self.size * self.stride) * self.size * self.stride or None


def kinds(layout: Layout) -> dict[str, tuple[int, int]]:
    """Size and stride of the groups that talk inside every layer."""
    return {
        "tp": (layout.tp, 1),
        "cp": (layout.cp, layout.tp),
        "etp": (layout.etp, 1),
        "ep": (layout.ep, layout.etp),
    }


def leaving(cluster: Cluster, layout: Layout) -> dict[str, Leaving]:
    """The groups of a layout that leave their domain, by kind."""
    domain = filled_domain(cluster.model_copy(update={"nodes": (layout.nodes,)}))
    found = {}
    for kind, (size, stride) in kinds(layout).items():
        counted = straddling(domain, layout.gpus, size, stride)
        if counted.leaving:
            domains = int(Groups(size, stride, domain).domains)
            found[kind] = Leaving(kind, size, stride, counted, domains)
    return found


def seconds_inside(case: Case, estimate: Estimate, groups: Leaving) -> float | None:
    """Seconds of a step that traffic of the kind would take if its groups stayed in their domains: the layout
    priced with domains of `fitting` GPUs. None where a domain holds no group."""
    from ..case import Case
    from ..pricing.estimate import decisions, estimate_layout

    if groups.fitting is None:
        return None
    cluster = case.cluster.model_copy(update={"nvlink_domain": groups.fitting})
    moved = Case(case.job.model_copy(update={"cluster": cluster}), case.target)
    return part(estimate_layout(moved, decisions(case, estimate)), groups.kind)


def part(estimate: Estimate, kind: str) -> float:
    """Seconds of a step of the part to which traffic of a kind of groups belongs."""
    return estimate.time.get("ep" if kind == "etp" else kind, 0.0)
