"""A plan -> what comments of launch files say of the link that groups of ranks use."""

from ..compiler.explain.straddling import leaving
from ..compiler.plan import Plan

GIGA = 1e9


def link(plan: Plan, kind: str) -> str | None:
    """`2 of 6 groups lie on 2 nodes: 50 GB/s a GPU between them`; None where all stay on the fast link."""
    cluster = plan.job.cluster
    found = leaving(cluster, plan.layout).get(kind)
    if found is None:
        return None
    groups = found.groups
    every = "each group lies" if groups.leaving == groups.total else _some(*groups[:2])
    place = "nodes" if cluster.domain == cluster.gpus_per_node else "NVLink domains"
    return (
        f"{every} on {found.domains} {place}: {cluster.network / GIGA:.3g} GB/s a GPU between them"
    )


def _some(leaving: int, total: int) -> str:
    return f"{leaving:,} of {total:,} groups {'lies' if leaving == 1 else 'lie'}"


def and_link(plan: Plan, kind: str) -> str:
    """`link` as the end of a comment, empty where all groups stay on the fast link."""
    said = link(plan, kind)
    return f"; {said}" if said else ""
