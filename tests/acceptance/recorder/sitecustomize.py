"""On PYTHONPATH: every rank writes which collectives of torch.distributed it called, to TRAFFIC_LOG.<rank>
when it leaves its process group.

The log is a JSON object, `operation dtype` -> elements of the whole tensors, summed over calls.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import wraps

#: Functions of torch.distributed, later names of PyTorch 2.13 among them, and what they do.
OPERATIONS = {
    "all_reduce": "all_reduce", "reduce": "reduce", "broadcast": "broadcast",
    "reduce_scatter": "reduce_scatter", "reduce_scatter_tensor": "reduce_scatter",
    "reduce_scatter_single": "reduce_scatter", "all_gather": "all_gather",
    "all_gather_into_tensor": "all_gather", "all_gather_single": "all_gather",
}  # fmt: skip


def record(path: str) -> None:
    import torch
    import torch.distributed as distributed

    elements: Counter[str] = Counter()

    def flat(values: Iterable[object]) -> Iterator[object]:
        for value in values:
            yield from flat(value) if isinstance(value, (list, tuple)) else [value]

    def watched(name: str) -> None:
        call = getattr(distributed, name)

        @wraps(call)
        def calling(*args: object, **options: object) -> object:
            # Input or output, whichever is whole.
            given = (*args, *options.values())
            sizes: dict[str, int] = {}
            for value in given:
                tensors = [each for each in flat([value]) if isinstance(each, torch.Tensor)]
                for tensor in tensors[:1]:
                    kind = str(tensor.dtype).removeprefix("torch.")
                    whole = sum(each.numel() for each in tensors)
                    sizes[kind] = max(sizes.get(kind, 0), whole)
            for kind, whole in sizes.items():
                elements[f"{OPERATIONS[name]} {kind}"] += whole
            return call(*args, **options)

        setattr(distributed, name, calling)

    def ending(end: Callable[..., object]) -> Callable[..., object]:
        @wraps(end)
        def writing(*args: object, **options: object) -> object:
            with open(path, "w") as log:
                json.dump(elements, log)
            return end(*args, **options)

        return writing

    for name in OPERATIONS:
        if hasattr(distributed, name):
            watched(name)
    distributed.destroy_process_group = ending(distributed.destroy_process_group)


def next_one() -> None:
    """Python runs the first file of this name alone; another, further on the path, stands in for a GPU."""
    here = os.path.dirname(__file__)
    for place in sys.path[sys.path.index(here) + 1 :]:
        path = os.path.join(place, os.path.basename(__file__))
        if os.path.exists(path):
            runpy.run_path(path)
            return


if "RANK" in os.environ and "TRAFFIC_LOG" in os.environ:
    record(f"{os.environ['TRAFFIC_LOG']}.{os.environ['RANK']}")
next_one()
