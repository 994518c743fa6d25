"""Ranks of a plan whose output the job's log shows -> torchrun's --tee on each node that has one of them."""

from collections.abc import Sequence

from ..compiler.plan import Plan

#: Both streams of a local rank in torchrun's words, which have one digit for it
#: (torch/distributed/elastic/multiprocessing/api.py, _MAPPING_REGEX); those of every rank, and of none.
_BOTH, _DIGITS, _ALL, _NONE = "{}:3", 10, "3", "0"


def rank_logs(
    plan: Plan, ranks: Sequence[int], whose: str, torchrun: bool = True
) -> dict[str, object]:
    """Values of logs.sh.j2: `whose` output is shown, and the value of `--tee`, by node if several. With
    `torchrun` the script has its options in an array, else a launcher's own take `$SHOWN`."""
    each = plan.job.cluster.gpus_per_node
    found: dict[int, list[int]] = {}
    for rank in sorted(set(ranks)):
        found.setdefault(rank // each, []).append(rank % each)
    tees = {node: _tee(local) for node, local in found.items()}
    several = tees if plan.layout.nodes > 1 else {}
    return {"whose": whose, "tees": several, "tee": tees.get(0, _NONE)} | {"torchrun": torchrun}


def _tee(ranks: Sequence[int]) -> str:
    return _ALL if max(ranks) >= _DIGITS else ",".join(map(_BOTH.format, ranks))
