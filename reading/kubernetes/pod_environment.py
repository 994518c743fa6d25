"""A group of pods -> the variables that its operator sets in their containers."""

from __future__ import annotations

from collections.abc import Mapping

from ..bash.values import Piece, Text, Word
from ..facts import Unknown
from ..yaml_tree import number_in
from .manifest import Counted, Number, Pods

_RANK = Unknown("it differs in each pod", nonempty=True)
_ADDRESS = Unknown("the operator sets it", nonempty=True)


def operators(pods: Pods) -> Mapping[str, Text]:
    """The variables by name; none of a kind whose controller sets none."""
    if pods.kind == "PyTorchJob":
        return _pytorch(pods)
    return _train_job(pods) if pods.kind == "TrainJob" else {}


def _pytorch(pods: Pods) -> dict[str, Text]:
    """kubeflow/training-operator v1.9.0, pkg/controller.v1/pytorch/envvar.go: the world counts processes of
    `nprocPerNode`, which is `auto` unless it is said, and then one each."""
    said = pods.spec.get("nprocPerNode")
    each = None if said is None else (number_in(said.word.pieces), said.word)
    found: dict[str, Text] = {}
    if pods.count is not None:
        found["PET_NNODES"] = _text(*pods.count)
        world = pods.count[0]
        if isinstance(world, int) and each is not None and isinstance(each[0], int):
            world *= each[0]
        if pods.spec.get("pytorchReplicaSpecs", "Master") is not None:
            found["WORLD_SIZE"] = _text(world, pods.count[1])
    elif pods.spec.get("elasticPolicy") is not None:
        found["PET_NNODES"] = _elastic(pods)
    found["PET_NPROC_PER_NODE"] = _processes(each, pods)
    if pods.spec.get("pytorchReplicaSpecs", "Master") is not None:
        found |= _ranks(pods, ("RANK", "PET_NODE_RANK"), ("MASTER_ADDR", "MASTER_PORT"))
    return found


def _train_job(pods: Pods) -> dict[str, Text]:
    """kubeflow/trainer v2, pkg/runtime/framework/plugins/torch/torch.go: `auto` processes unless said."""
    said = pods.spec.get("trainer", "numProcPerNode")
    each = None if said is None else (number_in(said.word.pieces), said.word)
    runtime = Unknown("the runtime of the TrainJob says it, which is not here")
    start = pods.spec.word
    found = {"PET_NNODES": _text(*(pods.count or (runtime, start)))}
    found["PET_NPROC_PER_NODE"] = _processes(each, pods)
    return found | _ranks(pods, ("PET_NODE_RANK",), ("PET_MASTER_ADDR", "PET_MASTER_PORT"))


def _processes(said: Counted | None, pods: Pods) -> Text:
    """`auto` is a process on each GPU of the pod (torch/distributed/run.py, determine_local_world_size)."""
    if said is not None and isinstance(said[0], int):
        return _text(*said)
    machines = Unknown("torchrun counts what it finds in the pod"), pods.spec.word
    return _text(*(pods.gpus or machines))


def _elastic(pods: Pods) -> Text:
    return _text(Unknown("an elastic job has as many nodes as there are"), pods.spec.word)


def _ranks(pods: Pods, ranks: tuple[str, ...], addresses: tuple[str, ...]) -> dict[str, Text]:
    place = pods.spec.word
    found = {name: _text(_RANK, place) for name in ranks}
    return found | {name: _text(_ADDRESS, place) for name in addresses}


def _text(number: Number, place: Word) -> Text:
    text = number if isinstance(number, Unknown) else str(number)
    return (Piece(text, place.path, place.line, place.column),)
