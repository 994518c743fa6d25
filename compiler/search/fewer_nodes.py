"""A plan on a fixed number of nodes -> fewer of them on which a step is predicted to take about as long.

GPUs that do not divide what a job has to share out, as the 72 of a rack do not divide 1,024 sequences, leave
a search uneven stages and groups, and most of them may do as well as all. The goal is that of the job, and so
is the search: each of the few counts of nodes that can divide the job better is planned as the whole was.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

from ...dsl.expression import COUNTED
from ...dsl.hardware import Cluster
from ...dsl.job import Job
from ..case import Case
from ..plan import FewerNodes, Plan
from ..target import Target
from .planning import plan_all
from .sweep import PER_STEP, objectives

#: Counts of nodes that are planned beside a plan's own, the most nodes first.
TRIED = 2


def fewer_nodes(plan: Plan, target: Target) -> FewerNodes | None:
    """The fastest of the smaller clusters, if its step takes at most `goal.within` longer than the plan's.

    None where the job leaves its number of nodes to the search, where its GPUs divide the batch and the
    layers, and where the goal is not of the time of a step or of what follows from it: whoever minimizes
    memory is not helped by fewer GPUs.
    """
    found = []
    for cluster in _candidates(plan, target):
        job = plan.job.model_copy(update={"cluster": cluster})
        (outcome,) = plan_all(job, [target])
        if isinstance(outcome, Plan):
            found.append(outcome)
    if not found:
        return None
    best = min(found, key=lambda each: each.estimate.step_seconds)
    most = plan.estimate.step_seconds * (1 + plan.job.goal.within)
    if best.estimate.step_seconds > most:
        return None
    domain = best.job.cluster.nvlink_domain
    shrunken = domain if domain != plan.job.cluster.nvlink_domain else None
    return FewerNodes(estimate=best.estimate, nvlink_domain=shrunken)


def _candidates(plan: Plan, target: Target) -> list[Cluster]:
    """Clusters of fewer nodes that divide the job better, the largest first. A step on them takes at least
    the plan's computation, spread evenly over the fewer GPUs."""
    job = plan.job
    whole = job.cluster
    quantity = objectives(Case(job, target))[0].quantity
    if len(whole.nodes) > 1 or quantity not in (*PER_STEP, *COUNTED):
        return []
    least = whole.nodes[0] * _even_compute(plan) / (1 + job.goal.within)
    found: list[Cluster] = []
    left = undivided(job, whole.nodes[0] * whole.gpus_per_node)
    for cluster in _smaller(whole):
        if cluster.nodes[0] < least or left == 1 or len(found) == TRIED:
            break
        if (lower := undivided(job, cluster.nodes[0] * cluster.gpus_per_node)) < left:
            left = lower
            found.append(cluster)
    return found


def undivided(job: Job, gpus: int) -> int:
    """The largest odd factor of a number of GPUs that divides neither the sequences of a batch nor the layers
    of the model: 1 where groups and stages of all GPUs can be even."""
    odd = gpus // (gpus & -gpus)
    shared = job.train.global_batch * job.model.layers
    while (common := gcd(odd, shared)) > 1:
        odd, shared = odd // common, shared // common
    return odd


def _even_compute(plan: Plan) -> float:
    """The share of the step that its computation took if every stage had as many layers."""
    stages = [sum(each.layers) for each in plan.estimate.stages]
    even = sum(stages) / (len(stages) * max(stages))
    return even * plan.estimate.time.get("compute", 0.0) / plan.estimate.step_seconds


def _smaller(whole: Cluster) -> Iterator[Cluster]:
    """The cluster with fewer nodes, down to one; of several whole racks with fewer nodes of each, unless pods
    hold them, which would hold fewer GPUs too."""
    nodes, per_node = whole.nodes[0], whole.gpus_per_node
    of_rack = max(1, whole.domain // per_node)
    racks = nodes // of_rack if of_rack > 1 and nodes % of_rack == 0 else 1
    if racks > 1 and whole.pod_gpus is not None:
        return
    for each in range(nodes // racks - 1, 0, -1):
        update: dict[str, object] = {"nodes": (racks * each,)}
        if racks > 1:
            update["nvlink_domain"] = each * per_node
        yield whole.model_copy(update=update)
