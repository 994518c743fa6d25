"""Tensor parallelism exchanges activations inside every layer. With tp above the GPUs of a node those
exchanges leave the fast link. So do some with a tp that does not divide them: of tp 4 in nodes of six GPUs,
ranks 4 to 7 lie on two nodes. The rule says that of cp and ep too, whose groups would fit a node.

Why:
The network between nodes is about ten times slower than NVLink, and all groups wait for the slowest. Systems
that join several nodes by NVLink are the exception: suppress the rule there, or name the cluster with
--cluster.

Bad:
torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 16 \\
    --num-attention-heads 32

Good:
torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 8 \\
    --num-attention-heads 32
"""

from collections.abc import Iterator

from ....compiler.time.rank_groups import Straddling, filled_domain, straddling
from ...facts.launched_job import LaunchedJob
from ...facts.nodes import most_gpus, on_rack, other_world
from ...finding import Complaint, Related, Skipped

CODE = "PAR104"
TITLE = "tp is larger than a node, or groups straddle two"
SEVERITY = "warning"
SOURCE = "arXiv 2104.04473, 5.2 (Megatron-LM SC21)"


def check(launch: LaunchedJob) -> Iterator[Complaint | Skipped]:
    tp, gpus = launch.number("tp"), launch.number("gpus_per_node")
    if tp is None or gpus is None:
        if launch.unknown("gpus_per_node") and (tp or 1) > 1:
            yield from _beyond_any(launch, tp or 1)
        return
    domain = max(launch.cluster.domain if launch.cluster else gpus, gpus)
    nodes = launch.number("nodes")
    if nodes == 1 or launch.generated or other_world(launch):
        return
    related = (Related(f"{gpus} GPUs per node", launch.facts["gpus_per_node"]),)
    if tp > domain:
        message = f"tp {tp} is larger than the {domain} GPUs of a node"
        yield Complaint(message, launch.facts["tp"], related, f"tp <= {domain}, and more pp or dp")
    elif launch.cluster is not None or not on_rack(launch):
        yield from _straddling(launch, gpus, nodes, related)


def _straddling(
    launch: LaunchedJob, gpus: int, nodes: int | None, related: tuple[Related, ...]
) -> Iterator[Complaint | Skipped]:
    """The first kind of groups that a node could hold whole and does not divide into."""
    domain = _domain(launch, gpus, nodes)
    for kind, size, stride in _groups(launch):
        block = size * stride
        if size == 1 or not domain or block > domain or not domain % block:
            continue
        if nodes is None:
            yield Skipped(frozenset({"nodes"}))
            return
        if nodes * gpus % block:
            return
        found = straddling(domain, nodes * gpus, size, stride)
        if found.leaving:
            yield _complaint(launch, kind, block, found, related)
            return


def _complaint(
    launch: LaunchedJob, kind: str, block: int, found: Straddling, related: tuple[Related, ...]
) -> Complaint:
    """Such as: `tp 2 * cp 2 = 4 does not divide the 6 GPUs of a node: 2 of 6 cp groups straddle two`."""
    size, domain = launch.number(kind) or 1, found.domain
    inner = {"cp": "tp", "ep": "etp"}.get(kind, "")
    shown, name = f"{kind} {size}", kind
    if block > size:
        shown, name = f"{inner} {block // size} * {shown} = {block}", f"{inner} * {kind}"
    place = "node" if domain == launch.number("gpus_per_node") else "NVLink domain"
    verb = "straddles" if found.leaving == 1 else "straddle"
    counted = f"{found.leaving} of {found.total} {kind} groups {verb} two"
    message = f"{shown} does not divide the {domain} GPUs of a {place}: {counted}"
    fitting = next(each for each in range(block, 0, -1) if domain % each == 0)
    help = f"{name} that divides {domain}, such as {fitting}"
    return Complaint(message, launch.facts[kind], related, help)


def _domain(launch: LaunchedJob, gpus: int, nodes: int | None) -> int:
    """Consecutive ranks that share a fast link; 0 where all do."""
    if launch.cluster is None or launch.cluster.domain <= gpus:
        return gpus
    counted = {"nodes": (nodes,), "gpus_per_node": gpus} if nodes else {"gpus_per_node": gpus}
    return filled_domain(launch.cluster.model_copy(update=counted))


def _groups(launch: LaunchedJob) -> Iterator[tuple[str, int, int]]:
    """Kind, size and stride of the groups that talk inside every layer, as far as they are known."""
    tp, cp, ep = (launch.number(name) for name in ("tp", "cp", "ep"))
    etp = launch.number("etp") or (1 if tp == 1 else None)
    if tp is None:
        return
    yield "tp", tp, 1
    if cp:
        yield "cp", cp, tp
    if ep and etp:
        yield "ep", ep, etp


def _beyond_any(launch: LaunchedJob, tp: int) -> Iterator[Complaint | Skipped]:
    """A tp that no node holds, and an open question where some do."""
    most = most_gpus(launch)
    if tp <= most:
        yield Skipped(frozenset({"gpus_per_node"}))
    else:
        message = f"tp {tp} is larger than any node, which has at most {most} GPUs"
        yield Complaint(message, launch.facts["tp"], (), f"tp <= {most}, and more pp or dp")
