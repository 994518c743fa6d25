"""A Ray of one node on this host: prints its address, gains a node at `grow`, loses it at `lose`, ends with
its input.

What connects before it grows is of the node that stays: Ray takes any node of the same host otherwise.
"""

import sys

from ray.cluster_utils import Cluster

cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
try:
    print(cluster.address, flush=True)
    for line in sys.stdin:
        if line.strip() == "grow":
            second = cluster.add_node(num_cpus=1)
            cluster.wait_for_nodes()
            print("grown", flush=True)
        elif line.strip() == "lose":
            cluster.remove_node(second, allow_graceful=False)
            print("lost", flush=True)
finally:
    cluster.shutdown()
