"""The terms of a step's time and of a GPU's memory -> what each is, for those who do not know its name."""

from __future__ import annotations

from collections.abc import Iterable

from .paragraphs import parts

#: Parts of a step. Traffic is what no computation overlaps.
OF_TIME = {
    "compute": "GEMMs, attention and other kernels of the model",
    "recompute": "forward passes repeated to save memory",
    "tp": "exposed traffic of tensor parallel groups",
    "cp": "exposed traffic of context parallel groups",
    "ep": "exposed traffic of tokens to experts and back",
    "pp": "exposed messages between pipeline ranks",
    "dp": "exposed traffic of weights and gradients",
    "bubble": "pipeline ranks that wait for others",
    "host": "the GPU waits for the CPU to launch kernels",
    "optimizer": "the optimizer's update",
    "offload": "transfers to the CPU's memory and back",
    "stragglers": "waiting for the slowest GPU",
    "other": "fixed work of each micro-batch and step",
}
#: Parts of a GPU's memory that their names do not explain.
OF_MEMORY = {
    "activations": "what the forward pass keeps for the backward pass",
    "logits": "outputs of the head and their gradients, in the loss",
    "workspace": "what the backward pass or the update allocates for a while",
    "fragments": "gaps in PyTorch's allocator",
    "buffers": "CUDA context, NCCL and fixed buffers of the framework",
}
#: Parts of a step that everybody who reads a plan knows.
_KNOWN = ("compute", "recompute", "optimizer", "other")
#: The sum of what is too small to be named, in either.
REST = "the sum of smaller parts"


def legend(time: Iterable[str], memory: Iterable[str], rest: bool) -> list[str]:
    """A paragraph on the terms that are shown by these names; `rest` where smaller ones are summed."""
    meanings = {name: text for name, text in OF_TIME.items() if name not in _KNOWN}
    shown = {name: meanings[name] for name in time if name in meanings}
    shown |= {name: OF_MEMORY[name] for name in memory if name in OF_MEMORY}
    if rest:
        shown["other"] = REST
    return parts("  terms   ", [f"{name}: {text}" for name, text in shown.items()])
