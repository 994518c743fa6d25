"""`Plan` -> the variables of the environment that the cluster's network needs, each with what it is for."""

from collections.abc import Iterator

from ..compiler.plan import Plan
from .environment import Variable, as_text

#: Of the clusters of std, by what their sources say (dsl/std/clusters.par).
WHY = {
    "FI_EFA_USE_HUGE_PAGE": "EFA without huge pages: data loaders fork, and the host would run out of them.",
    "NCCL_NET": "Slingshot by libfabric's plug-in or not at all: NCCL would go on over TCP without it.",
    "NCCL_NET_GDR_LEVEL": "The network reads a GPU's memory where both are on one NUMA node.",
    "NCCL_CROSS_NIC": "Rings may use different ports on different nodes.",
    "NCCL_PROTO": "LL128, of NCCL 2.27 and later, is slower over Slingshot.",
    "FI_CXI_DEFAULT_CQ_SIZE": "What suits libfabric on Slingshot.",
}
#: Their reason is that of the one before.
SAME = {
    "FI_CXI_DEFAULT_TX_SIZE",
    "FI_CXI_DISABLE_HOST_REGISTER",
    "FI_CXI_RX_MATCH_MODE",
    "FI_MR_CACHE_MONITOR",
}


def fabric(plan: Plan) -> Iterator[Variable]:
    """Variables of the cluster's `env`, on several nodes."""
    if plan.layout.nodes == 1:
        return
    cluster = plan.job.cluster
    for name, value in cluster.env.items():
        why = "" if name in SAME else WHY.get(name, f"Needed by the network of {cluster.name}.")
        yield Variable(name, as_text(value), why)
