"""`64xH100` -> the cluster of a first job, by names of the standard library."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from parc.dsl.diagnostics import Diagnostic, JobError, did_you_mean
from parc.dsl.hardware import Cluster
from parc.dsl.library import STD, std_entries
from parc.dsl.standard import std_cluster
from parc.dsl.unsupported import ACCELERATORS, KINDS_OF_GPUS
from parc.lint.std_cluster import cluster_named

from .. import codes
from .instances import gpus_of_instance

_TIMES = r"\s{0,9}[x*\N{MULTIPLICATION SIGN}]\s{0,9}"
#: Cards of GeForce are named by their number alone, too.
_NAME = r"(?P<name>(?!x\s{0,9}\d)[a-z].{0,60}?|[345]0[6-9]0s?)"
#: `64xH100` and `64 H100`, `2x8xH100` and `2 nodes of 8 H100`, `H100:64` and `H100 x 64`.
_ASKED = (
    re.compile(rf"(?P<nodes>\d{{1,7}})(?:{_TIMES}|\s{{0,9}}nodes?(?:\s{{1,9}}(?:of|with))?\s{{1,9}})"
               rf"(?P<count>\d{{1,4}})(?:{_TIMES}|\s{{1,9}}){_NAME}", re.IGNORECASE),
    re.compile(rf"(?P<nodes>\d{{1,7}})\s{{0,9}}nodes?(?:\s{{1,9}}(?:of|with)|\s{{0,9}}[x*])?\s{{1,9}}{_NAME}",
               re.IGNORECASE),
    re.compile(rf"(?P<count>\d{{1,7}})(?:{_TIMES}|\s{{0,9}}){_NAME}", re.IGNORECASE),
    re.compile(rf"{_NAME}(?:\s{{0,9}}[:*]\s{{0,9}}|(?<=[\d\s])x\s{{0,9}})(?P<count>\d{{1,7}})",
               re.IGNORECASE),
)  # fmt: skip
#: What SLURM and some clouds write before a type: `gpu:h100:8`, `GPU_8xH100`.
_SLURM = re.compile(r"gpu[:_]\s{0,9}", re.IGNORECASE)
#: The name of a type without a number, such as `H100` and `A100-80GB`.
_ALONE = re.compile(r"[A-Za-z]")
_GUIDE = "a block such as `gpu mine from std.l40s { memory = 44 GiB; bf16 = 181 TFLOP/s }` in a job"
_PARENT = re.compile(r"gpu[ \t]+\w+[ \t]+from[ \t]+(\w+)")
#: Words of a driver's name of a GPU that tell no two apart.
_IDLE_WORDS = re.compile(
    r"nvidia|tesla|geforce|amd|instinct|graphics|hbm\d?e?|oam|sxm\d", re.IGNORECASE
)
#: Words behind which a GPU's memory stands, as in `A100-SXM4-80GB`.
_MEMORY = re.compile(r"(?<![a-z\d])(\d{1,9})\s{0,9}g(?:i?b)?\b", re.IGNORECASE)
#: Bytes of a parameter's weight, gradient, master copy and two moments: Adam with mixed precision and sums of
#: gradients in fp32 (Rajbhandari et al. 2020, arXiv 1910.02054, section 3.1, has 16 with gradients of
# 2 bytes).
STATE_BYTES = 18
#: Share of all memory that states may take where nobody says how many GPUs there are; activations have
# the rest.
STATE_SHARE = 0.5
#: The cluster of a job whose GPUs nobody names.
DEFAULT = "dgx_h100"


@dataclass(frozen=True)
class ChosenGpus:
    """`base` is a cluster of the standard library, `gpu` another GPU in it; `assumed`
    where nobody said them, `partition` where SLURM was asked."""

    base: str
    gpu: str | None
    nodes: int
    per_node: int
    assumed: bool = False
    remark: str = ""
    partition: str | None = None

    @property
    def count(self) -> int:
        return self.nodes * self.per_node


def asked_gpus(text: str) -> ChosenGpus:
    """GPUs of a text such as `64xH100`; a type alone is one GPU. Raises `JobError` for a GPU that the library
    lacks, and for a number that is not a multiple of the GPUs of a node."""
    if re.search(r"[,+&]", text):
        help = KINDS_OF_GPUS.instead
        raise JobError([Diagnostic(KINDS_OF_GPUS.code, KINDS_OF_GPUS.message(text), help=help)])
    text = _SLURM.sub("", text.strip())
    found = next(filter(None, (form.fullmatch(text) for form in _ASKED)), None)
    said = found.groupdict() if found else {}
    nodes, count = (int(said[key]) if said.get(key) else None for key in ("nodes", "count"))
    _refuse_instance(said.get("name") or text, nodes or count)
    if not said and (node := _node(text)) is not None:
        return of_cluster(node)
    if not said and (_ALONE.match(text) or STD.find("gpu", text)):
        return of_type(1, text)
    if not said or nodes == 0 or count == 0:
        bare = text.isdecimal() and int(text)
        message = f"`{text}` is not COUNTxGPU"
        raise _refused(message, f"for example `{text if bare else 8}xH100`")
    if nodes is None and (node := _node(said["name"])) not in (None, said["name"]):
        nodes, count, said["name"] = count, None, str(node)
    if nodes is None:
        return of_type(count or 0, said["name"])
    in_node = count or std_cluster(_cluster_of(said["name"])[0]).gpus_per_node
    return of_type(nodes * in_node, said["name"], in_node)


def _refuse_instance(named: str, count: int | None) -> None:
    """A cloud's node has a network of its own, which no cluster of the library with its GPUs has."""
    gpus = None if _node(named) else gpus_of_instance(named)
    if gpus is not None:
        times = f"{count}x" if count else ""
        help = (
            f"its GPUs are `{times}{gpus}`; the job says its network, `cluster {{ network = ... }}`"
        )
        raise _refused(f"`{named}` is a node of a cloud that the library does not have", help)


def _node(named: str) -> str | None:
    """The library's cluster that a shop's name of a node means, such as `DGX H100` and `p5.48xlarge`."""
    found = STD.find("cluster", named)
    return found.block.name.name if found is not None and found.block.name else None


def of_type(count: int, named: str, per_node: int | None = None) -> ChosenGpus:
    """A number of GPUs by a name of the library, of a shop or of a driver, `per_node` in a node where it is
    known."""
    base, gpu = _cluster_of(named)
    in_node = per_node or min(count, std_cluster(base).gpus_per_node)
    if count % in_node:
        down, up = count // in_node * in_node, -(-count // in_node) * in_node
        message = f"{count} GPUs is not a multiple of the {in_node} GPUs of a node of std.{base}"
        sizes = [f"`{size}x{named}`" for size in (down, up) if size]
        raise _refused(message, " or ".join(sizes))
    return ChosenGpus(base, gpu, count // in_node, in_node)


def of_cluster(named: str) -> ChosenGpus:
    """A cluster of the library as it stands there. Raises `JobError` for a name that it lacks."""
    cluster = cluster_named(named)
    return ChosenGpus(
        cluster.name.removeprefix("std."), None, max(cluster.nodes), cluster.gpus_per_node
    )


def enough_gpus(parameters: int) -> ChosenGpus:
    """Nodes whose memory holds the states of so many parameters with room for activations: a power of two."""
    cluster = std_cluster(DEFAULT)
    room = cluster.gpus_per_node * cluster.gpu.memory * STATE_SHARE
    nodes = 1
    while nodes * room < parameters * STATE_BYTES:
        nodes *= 2
    return ChosenGpus(DEFAULT, None, nodes, cluster.gpus_per_node, assumed=True)


def _refused(message: str, help: str) -> JobError:
    return JobError([Diagnostic(codes.GPUS, message, help=help)])


def _cluster_of(named: str) -> tuple[str, str | None]:
    """A cluster of the library, and the GPU where it is not the cluster's own."""
    short = named.removeprefix("std.")
    homes = _homes()
    if short in {entry.name for entry in std_entries() if entry.kind == "cluster"}:
        return short, None
    gpu = _gpu(named)
    kin = [*_ancestors(gpu), *(name for name in homes if gpu in _ancestors(name))]
    parent = next((name for name in kin if name in homes), None)
    if parent is None:
        raise _refused(
            f"no cluster of the standard library has a `{gpu}`", "write the job by hand: `parc std`"
        )
    return homes[parent], None if parent == gpu else f"std.{gpu}"


def _homes() -> dict[str, str]:
    """GPU -> the first cluster of the library that has it; its nodes come before pods of them."""
    found: dict[str, str] = {}
    for entry in std_entries():
        if entry.kind == "cluster":
            cluster: Cluster = std_cluster(entry.name)
            found.setdefault(cluster.gpu.name, entry.name)
    return found


@functools.cache
def _parents() -> dict[str, str]:
    """GPU -> the one that its definition starts from."""
    texts = {entry.name: entry.source.text[entry.start : entry.end] for entry in std_entries()}
    found = {name: _PARENT.match(text) for name, text in texts.items()}
    return {name: match[1] for name, match in found.items() if match}


def _ancestors(gpu: str) -> list[str]:
    """A GPU, the one that its definition starts from, the one that starts from, and on."""
    line = [gpu]
    while (parent := _parents().get(line[-1])) is not None:
        line.append(parent)
    return line


def _gpu(named: str) -> str:
    """The GPU of the library that a name means. Of several, such as H100's, that of the first cluster."""
    known = [entry.name for entry in std_entries() if entry.kind == "gpu"]
    said = _plain(named)
    entry = STD.find("gpu", named) or STD.find("gpu", _IDLE_WORDS.sub("", named).strip(" -_"))
    called = [entry.block.name.name] if entry is not None and entry.block.name else []
    exact = [*called, *(name for name in known if _plain(name) == said)]
    begin = [name for name in known if said in accumulate(name.split("_"))]
    homes = _homes()
    fitting = [*exact, *sorted(begin, key=lambda name: name not in homes), *_by_words(named, known)]
    if not fitting and re.fullmatch(r".*\ds", named):
        return _gpu(named[:-1])
    if not fitting:
        node = STD.find("cluster", named)
        alike = (name for name in known if not _other_card(said, name))
        if re.match(r"tpu|trn|trainium|gaudi|inferentia", said):
            raise _refused(ACCELERATORS.message(named), ACCELERATORS.instead)
        own = f"`parc std --gpus` lists its GPUs, and {_GUIDE} describes another"
        help = did_you_mean(said, alike) or own
        if node is not None and node.block.name is not None:
            cluster = std_cluster(node.block.name.name)
            help = (
                f"it is a node of {cluster.gpus_per_node} GPUs: such as 4 nodes {cluster.gpu.name}"
            )
        raise _refused(f"no GPU of the standard library is a `{named}`", help)
    return fitting[0]


def _other_card(said: str, name: str) -> bool:
    """Whether two names differ in their letter or number, as A100 and H100, 5090 and 4090: then neither is
    misspelt. Digits may be missing at the end."""
    numbers = [re.sub(r"\D", "", each) for each in (said, name)]
    short, long = sorted(numbers, key=len)
    return said[:1] != name[:1] or not long.startswith(short)


def _plain(name: str) -> str:
    """`NVIDIA A100-SXM4-80GB` and `a100_80` -> a10080."""
    shown = _MEMORY.sub(r"\1", _IDLE_WORDS.sub("", name.removeprefix("std.")))
    return re.sub(r"[^a-z0-9]", "", shown.lower())


def _by_words(named: str, known: list[str]) -> Iterator[str]:
    """Names whose words are all said: `H100 80GB` says more of an H100 than its name does."""
    said = _words(named)
    fitting = [name for name in known if _words(name.removesuffix("_sxm")) <= said]
    yield from sorted(fitting, key=lambda name: -len(_words(name)))


def _words(name: str) -> frozenset[str]:
    plain = _MEMORY.sub(r" \1 ", _IDLE_WORDS.sub(" ", name.removeprefix("std.").lower()))
    return frozenset(re.findall(r"[a-z0-9]+", plain))
