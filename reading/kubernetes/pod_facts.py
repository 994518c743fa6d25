"""A group of pods and the facts of the command that they run -> the facts of the job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..bash.values import Word
from ..facts import Fact, Unknown
from ..launchers import Started
from .manifest import Counted, Pods

#: What torchrun takes for the number of GPUs of the machine (torch/distributed/run.py).
_ALL_GPUS = ("auto", "gpu")


def pod_facts(pods: Pods) -> Iterator[Fact]:
    """Facts of the pods from the manifest: how many, and GPUs of each."""
    for name, counted in (("pods", pods.count), ("gpus_per_pod", pods.gpus)):
        if counted is not None:
            yield _fact(name, counted)


def completed(pods: Pods, launch: Started, facts: Iterable[Fact]) -> tuple[Fact, ...]:
    """Adds nodes and GPUs that torchrun takes from its pod: one node a pod, all GPUs if it counts them."""
    found = {fact.name: fact for fact in facts}
    if launch.launcher == "torchrun":
        known = {"nodes": pods.count}
        if launch.given.text("--nproc-per-node") in _ALL_GPUS:
            known["gpus_per_node"] = pods.gpus
        for name, counted in known.items():
            if counted and name in found and isinstance(found[name].value, Unknown):
                found[name] = _fact(name, counted)
        found |= _product(found)
    return (*found.values(), *pod_facts(pods))


def _product(found: dict[str, Fact]) -> dict[str, Fact]:
    nodes, each, gpus = (found.get(name) for name in ("nodes", "gpus_per_node", "gpus"))
    if nodes is None or each is None or gpus is None or not isinstance(gpus.value, Unknown):
        return {}
    if not isinstance(nodes.value, int) or not isinstance(each.value, int):
        return {}
    return {"gpus": replace(nodes, name="gpus", value=nodes.value * each.value)}


def _fact(name: str, counted: Counted) -> Fact:
    value, place = counted
    return Fact(name, value, *_place(place))


def _place(word: Word) -> tuple[str, int, int]:
    return word.path, word.line, word.column
