"""A cluster -> what disagrees within it, or between it and the training; `CLUSTER_CHECKS` lists all."""

from collections.abc import Callable

from .. import codes
from ..diagnostics import Diagnostic, Note
from .evaluate import plain
from .parts import Complaints, Parts, note


def domain_fits_nodes(parts: Parts) -> Complaints:
    cluster = parts.cluster
    if not cluster:
        return
    per_node, domain = cluster.gpus_per_node, cluster.domain
    if max(per_node, domain) % min(per_node, domain):
        yield _uneven_domain(parts, domain, per_node)
    if cluster.pod_gpus is not None and cluster.pod_network is None:
        message = (
            f"pods of {plain(cluster.pod_gpus)} GPUs need `pod_network`: the bandwidth between them"
        )
        yield Diagnostic(codes.DOMAIN, message, parts.span("cluster", "pod_gpus"))


def _uneven_domain(parts: Parts, domain: int, per_node: int) -> Diagnostic:
    """A domain that neither divides a node nor is whole nodes; the place is that of a number which the job,
    not the standard library, gives."""
    message = f"nvlink_domain {domain} and gpus_per_node {per_node}: neither divides the other"
    if domain > per_node:
        nodes = domain // per_node
        help = (
            f"a domain has whole nodes: {nodes} of {per_node} GPUs are "
            f"`nvlink_domain = {nodes * per_node}`, or `gpus_per_node = {_divisor(domain, per_node)}`"
        )
    else:
        help = f"a node has whole domains: `nvlink_domain = {_divisor(per_node, domain)}`"
    places = [parts.span("cluster", name) for name in ("nvlink_domain", "gpus_per_node")]
    own = [place for place in places if place and not place.standard]
    ordered = [*own, *(place for place in places if place and place not in own)]
    notes = tuple(Note("the other number", place) for place in ordered[1:])
    at = ordered[0] if ordered else None
    return Diagnostic(codes.DOMAIN, message, at, notes=notes, help=help)


def _divisor(number: int, most: int) -> int:
    """The largest divisor of a number that is at most `most`."""
    return next(each for each in range(most, 0, -1) if number % each == 0)


def power_limit_caps(parts: Parts) -> Complaints:
    gpu = parts.cluster.gpu if parts.cluster else None
    if gpu and gpu.power_limit is not None and gpu.power_limit > gpu.power:
        message = (
            f"power_limit {plain(gpu.power_limit)} W is above the GPU's power, {plain(gpu.power)} W"
        )
        help = "leave it out, or say how much `power` the GPU draws without a limit"
        span = parts.span("cluster", "gpu", "power_limit")
        yield Diagnostic(codes.POWER_LIMIT, message, span, help=help)


def failures_are_complete(parts: Parts) -> Complaints:
    cluster, train = parts.cluster, parts.train
    if not cluster or cluster.gpu_mtbf is None:
        return
    span = parts.span("cluster", "gpu_mtbf")
    for key, found, example in (
        ("storage_bandwidth", cluster.storage_bandwidth or cluster.node_storage, "100 GB/s"),
        ("restart_time", cluster.restart_time, "10 min"),
    ):
        if found is None:
            message = f"`gpu_mtbf` needs `{key}`: both decide the time that failures cost"
            yield Diagnostic(codes.FAILURES, message, span, help=f"such as `{key} = {example}`")
    if train and train.checkpoint_interval is not None and not (span and span.standard):
        message = "`checkpoint_interval` is given, though it follows from `gpu_mtbf`"
        notes = note(parts, "the cluster's failures", "cluster", "gpu_mtbf")
        help = "leave it out: the plan tells the best one, and launch files have it"
        at = parts.span("train", "checkpoint_interval")
        yield Diagnostic(codes.FAILURES, message, at, notes=notes, help=help)


CLUSTER_CHECKS: tuple[Callable[[Parts], Complaints], ...] = (
    domain_fits_nodes,
    power_limit_caps,
    failures_are_complete,
)
