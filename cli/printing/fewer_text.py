"""A plan -> whether fewer nodes would do, and how to plan for them."""

from __future__ import annotations

from parc.compiler.plan import FewerNodes, Plan

from .words.layouts import splitting
from .words.numbers import seconds
from .words.paragraphs import words

#: The share by which steps differ at least to be called different.
SHOWN = 0.0005


def fewer_lines(plan: Plan) -> list[str]:
    """A line, or two; none where only all nodes do."""
    return words("  fewer   ", fewer(plan)) if plan.fewer else []


def fewer(plan: Plan) -> str:
    """The time that a step takes on fewer nodes, and the settings that plan for them; empty where only all
    do."""
    if (found := plan.fewer) is None:
        return ""
    layout = found.estimate.layout
    gpus = f"{layout.gpus:,} of {plan.layout.gpus:,} GPUs"
    return (
        f"{_nodes(plan, found)} ({gpus}) are predicted "
        f"{_beside(plan, found)}: {seconds(found.estimate.step_seconds)} a step with "
        f"{splitting(layout)} (`{_settings(found)}`)"
    )


def _nodes(plan: Plan, found: FewerNodes) -> str:
    cluster = plan.job.cluster
    if found.nvlink_domain is None:
        return f"{found.estimate.nodes:,} of {plan.layout.nodes:,} nodes"
    left, whole = (each // cluster.gpus_per_node for each in (found.nvlink_domain, cluster.domain))
    return f"{left} of the {whole} nodes of each rack"


def _beside(plan: Plan, found: FewerNodes) -> str:
    faster = plan.estimate.step_seconds / found.estimate.step_seconds - 1
    if abs(faster) < SHOWN:
        return "as fast"
    if faster > 0:
        return f"{faster:.1%} faster"
    return f"as fast within {plan.job.goal.within:.0%}"


def _settings(found: FewerNodes) -> str:
    text = f"--set cluster.nodes={found.estimate.layout.nodes}"
    if found.nvlink_domain is not None:
        text += f" --set cluster.nvlink_domain={found.nvlink_domain}"
    return text
