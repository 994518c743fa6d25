"""A Ray of a head without a part in jobs and of two nodes of eight GPUs that nothing opens, all on this host:
prints its address, and ends with its input."""

import sys

from ray.cluster_utils import Cluster

cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
try:
    for _ in range(2):
        cluster.add_node(num_cpus=1, num_gpus=8)
    cluster.wait_for_nodes()
    print(cluster.address, flush=True)
    sys.stdin.read()
finally:
    cluster.shutdown()
