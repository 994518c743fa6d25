"""Bits stand where bytes belong, or bytes where links are sold in bits.

Why:
`Gb` is a billion bits, an eighth of `GB`. Memory and its bandwidth come in bytes, and so does NVLink; a
network of `400 GB/s` for one GPU is no link that exists, but 400 Gb/s is.

Bad:
cluster from dgx_h100 { network = 400 GB/s }

Good:
cluster from dgx_h100 { network = 400 Gb/s }
"""

import re
from collections.abc import Iterator

from parc.dsl.diagnostics import Diagnostic, replaced
from parc.dsl.hardware import Cluster, Gpu
from parc.dsl.schema import setting_types
from parc.dsl.syntax.tree import Block, Number, Setting

from .read_job import ReadJob, warned

CODE = "PAR069"
TITLE = "bits where bytes belong, or bytes where bits do"
SOURCE = "NVIDIA ConnectX-8 SuperNIC datasheet (2024): 800 Gb/s, the fastest port"

#: Bytes per second of the fastest port of a network, and ports that a GPU may have.
PORT, PORTS = 100e9, 2
_LINKS = ("network", "pod_network")
_IN_BYTES = ("memory_bandwidth", "nvlink")
_UNIT = re.compile(r"([KMGTP]i?)(b|B)(?=$|/)")


def check(read: ReadJob) -> Iterator[Diagnostic]:
    for block in read.file.statements:
        if isinstance(block, Block) and block.kind.name in ("gpu", "cluster"):
            for item in block.items:
                if isinstance(item, Setting) and isinstance(item.value, Number):
                    yield from _judged(item, item.value, read)


def _judged(item: Setting, number: Number, read: ReadJob) -> Iterator[Diagnostic]:
    unit = _UNIT.search(number.text)
    key = item.key.name
    if unit is None:
        return
    known = {**setting_types(Gpu), **setting_types(Cluster)}
    in_bytes = key in _IN_BYTES or (key in known and str(known[key].dimension) == "B")
    rate = getattr(read.job.cluster, key, None) if key in _LINKS else None
    absurd = rate is not None and rate > PORT * PORTS and rate != read.job.cluster.gpu.nvlink
    wrong = (unit[2] == "b" and in_bytes) or (unit[2] == "B" and absurd)
    if wrong:
        other = number.text[: unit.start(2)] + unit[2].swapcase() + number.text[unit.end(2) :]
        words = "bits" if unit[2] == "b" else "bytes, more than ports of a network have"
        message = f"`{key} = {number.text}` is in {words}"
        fix = replaced(number.span, other, safe=False)
        yield warned(CODE, message, number.span, f"did you mean `{other}`?", fix)
