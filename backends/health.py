"""`Plan` -> health.py, which looks at GPUs and network before the first step, with what the plan expects."""

from ..compiler.plan import Plan
from ..compiler.time import collectives
from ..dsl.arrays import np
from .render import provenance, render_python

FILE = "health.py"
#: Sent by each GPU: enough that bandwidth decides, and little beside its memory.
BYTES = 2**28
#: At this many times the seconds of the plan, and at this many of the median node, a node is slow.
SLOWER, BEHIND = 2, 1.5


def checked(plan: Plan) -> bool:
    """Whether the job wants it."""
    launch = plan.job.launch
    return launch is None or launch.health_check


def health(plan: Plan) -> dict[str, str]:
    """The file by its path, beside the target's entry script."""
    if not checked(plan):
        return {}
    values = {
        "provenance": provenance(plan),
        "nodes": plan.layout.nodes,
        "gpus_per_node": plan.job.cluster.gpus_per_node,
        "bytes": BYTES,
        "mib": BYTES // 2**20,
        "expected": {name: f"{seconds:.3g}" for name, seconds in expected(plan).items()},
        "slower": SLOWER,
        "behind": BEHIND,
    }
    return {f"{plan.target}/{FILE}": render_python("health.py.j2", values)}


def expected(plan: Plan) -> dict[str, float]:
    """Seconds of each transfer by the prices of the plan's own traffic, in the order of their measurement."""
    cluster, layout = plan.job.cluster, plan.layout
    of_node = min(cluster.gpus_per_node, layout.gpus)
    sizes = np.array([of_node, layout.gpus])
    inside, overall = np.asarray(collectives.all_reduce(cluster, BYTES, sizes, 1)).tolist()
    far = np.array([cluster.domain + 1])
    (across,) = np.asarray(collectives.point_to_point(cluster, BYTES, far)).tolist()
    return {
        "an all-reduce in the node": inside,
        "an exchange with another node": across,
        "an all-reduce over all nodes": overall,
    }
