"""Cases of the probe: shapes of products and attention, streams, copies, and collectives over groups."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

MIB, GIB = 2**20, 2**30
#: Widths (columns, inner) of Llama's products: 1B, 8B and 70B, and the last two over four ranks.
WIDTHS = (
    (3072, 2048), (16_384, 2048), (2048, 8192), (6144, 4096), (28_672, 4096), (4096, 14_336),
    (10_240, 8192), (57_344, 8192), (8192, 28_672), (1536, 4096), (7168, 4096), (14_336, 8192),
)  # fmt: skip
OPERATIONS = ("all_gather", "reduce_scatter", "all_reduce", "all_to_all", "send")
#: Sizes by device. Streams are larger than caches of the last level (256 MiB on MI300X).
SIZES: dict[str, Any] = {
    "cuda": {
        "widths": WIDTHS, "rows": (512, 2048, 8192, 32_768), "small": (64, 128, 256),
        "sequences": ((8, 1024), (4, 2048), (2, 4096), (1, 8192), (1, 16_384), (1, 32_768)),
        "heads": ((32, 64), (32, 128)), "streams": (GIB, 2 * GIB, 4 * GIB),
        "messages": (64 * 1024, MIB, 8 * MIB, 64 * MIB, 512 * MIB), "copies": (64 * MIB, GIB),
        "models": ((8, 2048, 32, 8, 8192, 32_768), (4, 4096, 32, 8, 14_336, 32_768)),
        "batches": (2, 4096), "few": (1, 256), "compiles": True,
    },
    "cpu": {
        "widths": ((256, 256), (512, 256), (512, 512)), "rows": (128, 256, 512), "small": (8, 16),
        "sequences": ((1, 128), (1, 256), (1, 512)), "heads": ((4, 64),),
        "streams": (32 * MIB, 64 * MIB), "messages": (16 * 1024, 256 * 1024, 2 * MIB), "copies": (),
        "models": ((2, 256, 4, 2, 512, 512),), "batches": (1, 128), "few": (1, 8), "compiles": False,
    },
}  # fmt: skip

#: How the backward pass of a kernel is timed, where not alone on what one forward pass kept: Transformer
#: Engine 2 drops that with the first backward pass.
BACKWARD = {"transformer_engine:te": "both"}

Case = dict[str, Any]


def cases(
    device: str, dtypes: Sequence[str], kernels: Sequence[str], ranks: int, node: int
) -> list[Case]:
    """The cases to time, in an order that leaves a sample of every kind wherever time ends it.

    `ranks` in all, `node` of them on each node; `dtypes` and `kernels` are those that the device has.
    """
    kinds = [
        list(_products(device, dtypes)),
        list(_attentions(device, kernels)),
        [{"kind": "launch"}],
    ]
    kinds += [list(_streams(device)), list(_copies(device))]
    kinds += [list(_collectives(device, shape)) for shape in group_shapes(ranks, node)]
    order = random.Random(0)
    for kind in kinds:
        order.shuffle(kind)
    first = [case for kind in kinds for case in kind[:2]]
    rest = [case for kind in kinds for case in kind[2:]]
    order.shuffle(rest)
    eager, compiled = (
        [case for case in _trainings(device) if case["compile"] is each] for each in (False, True)
    )
    quarter = len(rest) // 4  # compilation takes as long as all that is before
    return first + eager + rest[:quarter] + compiled + rest[quarter:]


def _products(device: str, dtypes: Sequence[str]) -> Iterator[Case]:
    sizes = SIZES[device]
    shapes = [(rows, *width) for width in sizes["widths"] for rows in sizes["rows"]]
    shapes += [(rows, rows, inner) for rows in sizes["small"] for inner in sizes["small"]]
    for dtype in dtypes:
        for rows, columns, inner in shapes:
            yield {
                "kind": "product",
                "dtype": dtype,
                "rows": rows,
                "columns": columns,
                "inner": inner,
            }


def _attentions(device: str, kernels: Sequence[str]) -> Iterator[Case]:
    for kernel in kernels:
        for batch, seq_len in SIZES[device]["sequences"]:
            for heads, head_dim in SIZES[device]["heads"]:
                for direction in ("forward", BACKWARD.get(kernel, "backward")):
                    yield {
                        "kind": "attention", "kernel": kernel, "direction": direction, "batch": batch,
                        "heads": heads, "seq_len": seq_len, "head_dim": head_dim,
                    }  # fmt: skip


def _streams(device: str) -> Iterator[Case]:
    for size in SIZES[device]["streams"]:
        yield from ({"kind": "stream", "operands": count, "bytes": size} for count in (2, 3))


def _trainings(device: str) -> Iterator[Case]:
    """Steps of small models: all ways of recomputation, few tokens, for which the GPU waits, and compiled."""
    sizes = SIZES[device]
    small, *larger = sizes["models"]
    for recompute in ("none", "full", "selective"):
        yield _training(small, sizes["batches"], recompute=recompute)
    yield _training(small, sizes["few"])
    for model in larger:
        yield _training(model, sizes["batches"])
    if sizes["compiles"]:
        for model in sizes["models"]:
            yield _training(model, sizes["batches"], compile=True)


def _training(
    model: tuple[int, ...], batch: tuple[int, int], recompute: str = "none", compile: bool = False
) -> Case:
    names = ("layers", "hidden", "heads", "kv_heads", "ffn", "vocab")
    shape = {**dict(zip(names, model, strict=True)), "batch": batch[0], "seq_len": batch[1]}
    return {"kind": "training", **shape, "recompute": recompute, "compile": compile}


def _copies(device: str) -> Iterator[Case]:
    for size in SIZES[device]["copies"]:
        yield from ({"kind": "copy", "to": to, "bytes": size} for to in ("gpu", "host"))


def _collectives(device: str, shape: tuple[int, int]) -> Iterator[Case]:
    size, stride = shape
    for operation in OPERATIONS[:-1] if size > 2 else OPERATIONS:
        for sent in SIZES[device]["messages"]:
            yield {
                "kind": "collective",
                "op": operation,
                "bytes": sent,
                "size": size,
                "stride": stride,
            }


def group_shapes(ranks: int, node: int) -> list[tuple[int, int]]:
    """(size, stride) of groups: powers of two and all of a node; over nodes, one of each, and all ranks."""
    inside = {2**power for power in range(1, 11) if 2**power < node} | {node}
    shapes = [(size, 1) for size in sorted(inside) if size > 1]
    nodes = ranks // node
    if nodes > 1:
        shapes += sorted({(2, node), (nodes, node), (ranks, 1)})
    return list(dict.fromkeys(shapes))


def key(case: Case) -> str:
    """The text that tells a case from others; its results do not count."""
    results = ("seconds", "spread", "failed")
    return json.dumps({name: case[name] for name in sorted(case) if name not in results})
