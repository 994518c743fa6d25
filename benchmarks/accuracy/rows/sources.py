"""What the sources of measured runs have in common, as tables: on which machines they ran, which models, how
they count. What they ran with is in `benchmarks/accuracy/setups/frameworks.py`.

The first entry whose pattern is found decides. Nothing here is chosen by how well it fits: every line states
where it comes from, and what is not stated takes the default at the end of its table.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

GIGA_BITS = 1e9 / 8
MIB, GIB, GB = 2**20, 2**30, 10**9
#: Bytes of kernels within a GPU's `reserve` (dsl/std/gpus.par), which stands for CUDA of today.
LAZY_KERNELS = 512 * MIB


class Patterned(Protocol):
    @property
    def pattern(self) -> str: ...


Entry = TypeVar("Entry", bound=Patterned)


def first(table: Sequence[Entry], *texts: str) -> Entry:
    """The first entry found in the first text that any entry is found in; the last entry is the
    default."""
    for text in texts:
        for entry in table[:-1]:
            if re.search(entry.pattern, text):
                return entry
    return table[-1]


@dataclass(frozen=True)
class Machine:
    """A cluster of the standard library, and what the source says differs.
    `node_network` is in bytes per second of a whole node, all its ports together; `kernels` the bytes of
    kernels that CUDA loaded at the start, before it loaded each at its first use (CUDA 11.7)."""

    pattern: str
    cluster: str
    node_network: float | None = None
    kernels: int = 0


#: Found in the source's name, else in the place and the notes; the default depends on the GPU.
MACHINES = (
    # Jean Zay: four 100 Gb/s Omni-Path links per node (bigscience, train/tr11-176B-ml/README.md and
    # tr1-13B-base), of which NCCL reached 135 Gb/s (experiments/README.md; in 2022 too: network/README.md of
    # stas00/ml-engineering); the cluster's network_efficiency is in that figure already. Kernels:
    # train/tr11-176B-ml/chronicles-prequel.md, what nvidia-smi shows of a process with one tensor.
    Machine(
        "BigScience V100|BigScience 1.3B|BigScience 104B",
        "dgx_v100",
        135 / 0.9 * GIGA_BITS,
        1271 * MIB,
    ),
    Machine("(BigScience|BLOOM).*A100", "dgx_a100", 135 / 0.9 * GIGA_BITS, 1573 * MIB),
    # doc/en/train_performance.md: 4 x 100 Gb/s RoCE per node.
    Machine("InternEvo.*A[18]00", "dgx_a100", 400 * GIGA_BITS),
    # DLPerf's reports: one 100 Gb/s InfiniBand port per node.
    Machine("DLPerf.*V100", "dgx_v100", 100 * GIGA_BITS),
    # scripts/train/benchmarking/README.md: 1600 Gb/s between nodes.
    Machine("llm-foundry.*A100", "dgx_a100", 1600 * GIGA_BITS),
    # README: 128 A100 with 400 Gb/s, 96 H100 with 800 Gb/s.
    Machine("fms-fsdp.*A100", "dgx_a100", 400 * GIGA_BITS),
    Machine("fms-fsdp.*H100", "dgx_h100", 800 * GIGA_BITS),
    # arXiv 2407.21783, 3.3.1.
    Machine("Llama 3 paper.*H100", "llama3_cluster"),
    # config/validation: inter_node_bandwidth 800, in Gb/s of a node.
    Machine("vTrain.*A100", "dgx_a100", 800 * GIGA_BITS),
    # torchtitan's H100 runs are Meta's, on the same kind of node.
    Machine("torchtitan.*H100", "llama3_cluster"),
    # The ultra-scale playbook ran on AWS p5.
    Machine("nanotron.*H100", "cloud_h100"),
    Machine("", ""),
)
#: The default cluster of a GPU: its maker's own.
HOME = {
    "v100_16": "dgx_v100", "v100_32": "dgx_v100", "a100_40": "dgx_a100", "a100_80": "dgx_a100",
    "a800": "dgx_a100", "a100_pcie_40": "a100_pcie_box", "a100_pcie_80": "a100_pcie_box",
    "l40s": "cloud_l40s", "gh200": "quad_gh200", "h20": "h20_node",
    "h100_sxm": "dgx_h100", "h100_pcie": "dgx_h100",
    "h200": "dgx_h200", "h800": "h800_pod", "b200": "dgx_b200", "b300": "dgx_b300", "gb200": "gb200_nvl72",
    "gb300": "gb300_nvl72", "mi300x": "mi300x_node", "mi325x": "mi300x_node",
    "mi350x": "mi300x_node", "mi355x": "mi300x_node",
}  # fmt: skip
#: Names of GPUs in the column `gpu`; of two for one GPU the later is preferred.
GPUS = {
    "V100-16": "v100_16", "V100-32": "v100_32", "A100-40": "a100_40", "A100-80": "a100_80",
    "A100-PCIE-40": "a100_pcie_40", "A100-PCIE-80": "a100_pcie_80", "A800-80": "a800", "L40S": "l40s",
    "GH200": "gh200", "H20": "h20", "H100": "h100_sxm", "H100-SXM": "h100_sxm",
    "H100-PCIE": "h100_pcie", "H200": "h200", "H800": "h800", "B200": "b200", "B300": "b300",
    "GB200": "gb200", "GB300": "gb300", "MI300X": "mi300x", "MI325X": "mi325x", "MI350X": "mi350x",
    "MI355X": "mi355x",
}  # fmt: skip
#: What else a name may say of a GPU that comes with one memory, a superchip's host memory among it; and words
#: that tell no two apart.
ONE_MEMORY = (
    "A800-80",
    "L40S-48",
    "GH200-96",
    "GH200-120",
    "GH200-480",
    "H20-96",
    "H100-80",
    "H100-PCIE-80",
    "H200-141",
    "H800-80",
    "MI300X-192",
    "MI325X-256",
    "MI350X-288",
    "MI355X-288",
)
IDLE_WORDS = {"NVIDIA", "TESLA", "AMD", "INSTINCT", "OAM", "SXM", "SXM2", "SXM4", "SXM5"}


def words_of(name: str) -> frozenset[str]:
    """The words of a GPU's name that matter, in any order."""
    plain = re.sub(r"(?<=\d) ?GB\b|\bHBM\w*", " ", name.upper())
    return frozenset(re.findall(r"[A-Z0-9]+", plain)) - IDLE_WORDS


def _names() -> dict[frozenset[str], str]:
    names = {words_of(name): name for name in GPUS}
    for name in ONE_MEMORY:
        short = words_of(name.rpartition("-")[0])
        names |= {words_of(name): names.get(short, name), short: names.get(short, name)}
    return names


NAMES = _names()


def gpu_named(text: str) -> str | None:
    """The name in `GPUS` of what a table, a driver or the standard library calls a GPU; None for others."""
    return NAMES.get(words_of(text))


def gpus_like(text: str) -> list[str]:
    """The names that say all that `text` says, and more."""
    said = words_of(text)
    return sorted({name for words, name in NAMES.items() if said and said < words})


@dataclass(frozen=True)
class Part:
    """A GPU that differs from the standard one: fields of `Gpu` to replace."""

    pattern: str
    change: dict[str, Any]


#: Found in the notes.
PARTS = (
    # torchtitan, benchmarks/llama3_h100_202412_torchtitan.md: 95 GiB HBM2e at 2.4 TB/s, 500 W.
    Part("HBM2e lower-TDP H100", {"memory": 95 * GIB, "memory_bandwidth": 2.4e12, "power": 500.0}),
    Part("", {}),
)


@dataclass(frozen=True)
class Kernel:
    """Fused attention older than the one that the GPU's figure stands for: its share of peak, by what the
    GPU's kernels are built for."""

    pattern: str
    efficiency: dict[str, float]


#: Found in the source's name, else in the place and the notes.
KERNELS = (
    # scripts/train/benchmarking/submit_benchmarks.py: attn_impl triton, a kernel of FlashAttention-1's kind,
    # 25-40 % of peak on A100 (Dao 2023, arXiv 2307.08691).
    Kernel("llm-foundry", {"sm80": 0.40}),
    # doc/en/install.md: flash-attention v1.0.5.
    Kernel("InternEvo", {"sm80": 0.40}),
    Kernel("", {}),
)


@dataclass(frozen=True)
class Family:
    """What a table of dimensions does not say of an architecture: fields of `Model`."""

    pattern: str
    fields: dict[str, Any]


LAYERNORM = {"norm": "layernorm"}
#: Found in the model's name.
FAMILIES = (
    # llmfoundry/models/mpt: ALiBi, no biases, tied.
    Family("^MPT", {**LAYERNORM, "position": "none", "bias": False, "tied": True}),
    # arXiv 2402.16819: squared ReLU, rope, no biases, untied.
    Family(
        "^Nemotron",
        {
            **LAYERNORM,
            "position": "rope",
            "bias": False,
            "tied": False,
            "activation": "squared_relu",
        },
    ),
    # train/tr11-176B-ml/README.md: ALiBi, tied.
    Family("^BLOOM", {**LAYERNORM, "position": "none", "bias": True, "tied": True}),
    Family("^Qwen-?2", {"qkv_bias": True}),
    Family("^Qwen-?3", {"qk_norm": True}),
    Family("^GPT-OSS", {"bias": True}),
    Family("", {}),
)
#: Feed-forward gated or not, when no family decides: Llama's and GPT-2's conventions.
PLAIN = {**LAYERNORM, "position": "learned", "bias": True, "tied": True}
GATED: dict[str, Any] = {}
#: Mamba layers between attention and experts (Nemotron-H, arXiv 2504.03624, and its successors).
HYBRIDS = r"^Nemotron-?(H|3[.-])"
#: Parts of a model's name, in small letters and digits, that say nothing of its dimensions, and what is left.
ALIKE = ((r"^llama3[13](?=(8|70|405)b)", "llama3"), (r"(base|instruct|chat|hf|v0\d)$", ""))


@dataclass(frozen=True)
class Assumed:
    """Fields that the rows of a source hold otherwise: by what the source says or its code can do, or open
    where it says nothing."""

    pattern: str
    fields: dict[str, Any]


#: Found in the source's name.
ASSUMED = (
    # The commit that both cite, 152aab304d, cannot interleave (megatron/schedules.py is not there yet).
    Assumed("README Jan 2021|README GPT-3", {"vpp": 1}),
    Assumed("", {}),
)


@dataclass(frozen=True)
class Gauge:
    """What a source's memory figure counts: bytes of its unit, and of what: tensors alone, what torch's
    allocator holds for them, or all that nvidia-smi shows, driver context and libraries included (`planned`:
    without gaps and caches); and of which pipeline stage.
    """

    pattern: str
    unit: int | None
    counts: Literal["allocated", "reserved", "device", "planned"] = "device"
    stage: Literal["fullest", "first"] = "fullest"


MEMORY = (
    # Maximum that torch's allocator reserved.
    Gauge("torchtitan", GIB, "reserved"),
    # max_memory_allocated.
    Gauge("SimuMax", GIB, "allocated"),
    Gauge("^own ", GIB, "allocated"),
    # nanotron's "Mem Alloc (GB)" is divided by 1024 three times (helpers.py, create_table_log).
    Gauge("nanotron", GIB, "allocated"),
    # nvidia-smi, MiB / 1024; OneFlow plans all tensors' places at compile time and has no allocator's cache.
    Gauge("DLPerf", GIB, "planned"),
    # Not stated how taken. Its FSDP rows fall by 27 to 30 bytes per parameter with the ranks, beyond any
    # state of the framework: caches are in it, or the update's temporaries.
    Gauge("InternEvo memory", None),
    # Unit not stated.
    Gauge("Primus", None),
    # "GB" read off nvidia-smi, which prints MiB: a log whose allocator reserved 23,288 MiB is a "26GB" of
    # experiments/gpt2.md, and one of 28,560 MiB the "~30gb" of its script. The 1.3B runs on two nodes were
    # read on the first: what shows as 13GB there ran out of memory on cards of 16.
    Gauge("BigScience 1.3B", 1000 * MIB, stage="first"),
    Gauge("BigScience", 1000 * MIB),
    Gauge("", GB),
)
#: Sources of advice and arithmetic.
ADVICE = "^guide"
#: Sources whose rows no machine ran: vTrain's are what its own simulator makes of 32 profiles of one layer
#: (vtrain_rows.py has the proof). They are scored like others, and the measured ones also apart.
COMPOSED = "^vTrain single-node"
#: Clusters change under a source: runs before and after are different jobs. (pattern in the source, month-day
#: at the end of `where` from which the new state holds). BigScience: a PCIe and NUMA fix of 2022-02-25.
REPAIRS = (("BigScience tr11", "02-25"),)
#: Sources whose later rows are also scored apart, from that month-day on: BigScience counts FLOP by
#: Megatron-LM's formula from 2022-02-21.
LATER = (("BigScience tr11", "02-21"),)
