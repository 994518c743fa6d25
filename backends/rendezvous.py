"""`Plan` -> what `rendezvous.sh.j2`, the head of every entry script, says of its nodes."""

from ..compiler.plan import Plan
from .render import nodes_text


def rendezvous(plan: Plan) -> dict[str, object]:
    """The plan's shape for templates: its numbers, and the variables that start a node of it by hand."""
    nodes = plan.layout.nodes
    by_hand = f"NNODES={nodes} NODE_RANK=<0..{nodes - 1}> MASTER_ADDR=<host of node 0> "
    return {
        "count": nodes,
        "nodes": nodes_text(nodes),
        "gpus_per_node": plan.job.cluster.gpus_per_node,
        "gpus": plan.layout.gpus,
        "each": f" On each of {nodes} nodes:" if nodes > 1 else "",
        "variables": by_hand if nodes > 1 else "",
    }
