"""Words of `cp_comm`: how the ranks of context parallelism meet each other's keys and values, and their
numbers."""

#: Around a ring; whole keys and values on each rank; whole heads on each rank; an all-to-all inside a ring.
P2P, ALL_GATHER, A2A, HIERARCHICAL = "p2p", "all_gather", "a2a", "hierarchical"
EXCHANGES = {P2P: 0, ALL_GATHER: 1, A2A: 2, HIERARCHICAL: 3}
