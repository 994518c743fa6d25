"""What the sources of measured runs have in common, as tables: who ran them, on which machines, how
they count.

The first entry whose pattern is found decides. Nothing here is chosen by how well it fits: every
line states where
it comes from, and what is not stated takes the default at the end of its table.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

import numpy as np

from parc.compiler.parameters import dense_layer
from parc.dsl.job import Job

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
class Framework:
    """Who ran it, and the target whose traits price it below and at ZeRO stage 3.

    `traits` replaces those of the target where the framework is known to differ from it.
    """

    pattern: str
    name: str
    target: str
    sharded: str
    compiles: bool = False
    traits: tuple[tuple[str, float], ...] = ()


#: FSDP of PyTorch 1 gathers flat parameters into place (torch/distributed/fsdp/_flat_param.py).
FLAT = (("gather_copy_bytes", 0.0), ("reduce_copy_bytes", 0.0))
#: Before Megatron-LM overlapped data parallelism (2023): gradients in one piece after the backward pass
#: (megatron/model/distributed.py), updated weights after the step. ZeRO 3 of the same year (DeepSpeed 0.3):
#: the six times of SC21's table 2 at three micro-batches say that gathers hide behind three of four passes,
#: that reductions do not, and that both reach one port of eight.
OF_2022 = (
    ("overlaps_reduce", False),
    ("overlaps_regather", False),
    ("overlaps_each", False),
    ("gather_quarters", 3),
    ("wide_share", 1 / 8),
)
#: Before gradient accumulation fusion, which came with sequence parallelism (--no-gradient-accumulation-fusion).
OF_2021 = (*OF_2022, ("fuses_accumulation", False))


def owned(job: Job, ranks: Any, ways: Any) -> Any:
    """Parameters of one owner where whole tensors are dealt to ranks: nine of a block, biases among them."""
    tensors = 9 * job.model.layers
    return dense_layer(job.model).total * job.model.layers / ways / np.minimum(ranks, tensors)


def reduces_never(zero: int) -> bool:
    """Gradients leave once per step at any stage."""
    return False


def gathers_divided(zero: int) -> int:
    """Gathered weights stay until the step ends but at stage 3."""
    return 2 if zero == 3 else 0


#: Tensor-parallel collectives in pieces beside their products (Transformer Engine, user buffers).
PIECES = (("overlaps_tensor", True),)
#: One kernel for the loss (Transformer Engine, cross_entropy.py): 16-bit logits read twice, their gradient
#: written in their place and scaled, at 0.42 of other kernels' bandwidth (SimuMax, configs/system,
#: b200_bf16_ceperm.json: ce_fusion 0.28 of peak for 0.67).
ONE_LOSS = (("loss_bytes", 24.0),)
#: Found in the source's name, else in the place and the notes.
FRAMEWORKS = (
    # llmfoundry/models/mpt/modeling_mpt.py: flash-attn's cross entropy on 16-bit logits, and their
    # gradient.
    Framework(
        "llm-foundry",
        "llm-foundry",
        "torchtitan",
        "torchtitan",
        traits=(("logit_bytes", 4.0), ("loss_bytes", 10.0), *FLAT),
    ),
    Framework("fms-fsdp", "fms-fsdp", "torchtitan", "torchtitan", compiles=True, traits=FLAT),
    Framework("torchtitan", "torchtitan", "torchtitan", "torchtitan"),
    # gpu_torch.py: fp32 weights under autocast in eager PyTorch, as torchtitan on one GPU.
    Framework("^own PyTorch", "PyTorch", "torchtitan", "torchtitan"),
    # Meta's own trainer: FSDP, TP, PP and all-gather CP as torchtitan has them, but inputs and outputs of
    # stages and whatever else the backward pass does not need are freed at once, a stage runs several
    # micro-batches in a row, sums their gradients and reduces once, gradients are divided, gathered weights
    # stay (arXiv 2407.21783, 3.3.2). It ran 8,192 tokens without recomputation, for which there is room when
    # a SwiGLU keeps three tensors, as a fused one does, and not four.
    Framework(
        "Llama 3 paper",
        "Meta Llama 3",
        "torchtitan",
        "torchtitan",
        traits=(
            ("keeps_outputs", False),
            ("keeps_gathered", False),
            ("reduces_each", reduces_never),
            ("gathers", gathers_divided),
            ("fused", True),
        ),
    ),
    # XLA: JAX on GPUs shards as FSDP does and fuses elementwise work.
    Framework("JAX|MaxText", "JAX", "torchtitan", "torchtitan", compiles=True),
    # internlm/solver/optimizer/hybrid_zero_optim.py: gradients travel in 16 bits, updated weights after the
    # step (overlap_sync_param is off in the test's configuration), broadcast by each rank that owns some.
    Framework(
        "InternEvo",
        "InternEvo",
        "megatron",
        "torchtitan",
        traits=(
            ("reduce_bytes", 2.0),
            ("overlaps_regather", False),
            ("gather_bucket", owned),
        ),
    ),
    # The commit that both cite, 152aab304d, has the pipeline of before February 2021: each rank sends whole
    # activations (megatron/p2p_communication.py came with the option to scatter them).
    Framework(
        "README Jan 2021|README GPT-3",
        "Megatron-LM",
        "megatron",
        "megatron",
        traits=(*OF_2021, ("whole_boundary", True)),
    ),
    Framework("SC21 Table 2", "Megatron-LM", "megatron", "deepspeed", traits=OF_2021),
    # tr11-176B-ml.slurm: CUDA_LAUNCH_BLOCKING=1.
    Framework(
        "BigScience tr11|BLOOM",
        "Megatron-DeepSpeed",
        "megatron",
        "deepspeed",
        traits=(*OF_2021, ("blocking", True)),
    ),
    # src/model/gpt_model.py, src/trainer.py: a vocabulary without padding, torch's cross entropy of 16-bit
    # logits.
    Framework(
        "vTrain",
        "Megatron-DeepSpeed",
        "megatron",
        "deepspeed",
        traits=(*OF_2021, ("vocab_multiple", 1), ("loss_bytes", 10.0)),
    ),
    Framework(
        "BigScience|Megatron-DeepSpeed",
        "Megatron-DeepSpeed",
        "megatron",
        "deepspeed",
        traits=OF_2021,
    ),
    # scripts/performance: tp_comm_overlap with user buffers.
    # cross_entropy_fusion_impl is te.
    Framework(
        "Megatron-Bridge",
        "Megatron-Bridge",
        "megatron",
        "megatron",
        traits=(*PIECES, *ONE_LOSS),
    ),
    # docs/source/performance: the same.
    Framework("NeMo", "NeMo", "megatron", "megatron", traits=PIECES),
    # The README: NeMo's configuration.
    Framework("examples/llama", "Megatron-LM", "megatron", "megatron", traits=PIECES),
    # The table's text: --tp-comm-overlap.
    Framework("README H100", "Megatron-LM", "megatron", "megatron", traits=PIECES),
    Framework(r"\(OneFlow\)", "OneFlow", "megatron", "megatron"),
    Framework("nanotron", "nanotron", "megatron", "megatron"),
    Framework("Primus", "Primus", "megatron", "megatron"),
    Framework("DeepSpeed|ZeRO|Alpaca|HF Trainer", "DeepSpeed", "deepspeed", "deepspeed"),
    Framework("SC21", "Megatron-LM", "megatron", "megatron", traits=OF_2021),
    Framework("Korthikanti", "Megatron-LM", "megatron", "megatron", traits=OF_2022),
    Framework(
        "Megatron|MegaScale|SimuMax|DeepSeek",
        "Megatron-LM",
        "megatron",
        "megatron",
    ),
    Framework("", "other", "megatron", "torchtitan"),
)


@dataclass(frozen=True)
class Recipe:
    """Options of a framework's published recipes that change what a run costs: traits to replace. The pattern
    is looked for in `source, where, GPU precision model, notes`."""

    pattern: str
    traits: tuple[tuple[str, Any], ...] = ()


#: HybridEP or DeepEP in place of NCCL's all-to-all (moe_flex_dispatcher_backend).
FLEX = (("dispatch", "tokens"),)
#: scripts/performance/configs/*/*_workload_base_configs.py by the tag of each container: on racks of GB200
#: and GB300 HybridEP since the first (v0.2.0), on single nodes since 26.02 (v0.3.0); on racks MXFP8 runs the
#: whole step as one graph since 26.06 (v0.5.0: cuda_graph_impl full_iteration), with moe_a2a_overlap and
#: cutedsl_fused_grouped_mlp, but for Kimi; Qwen3 30B on B300 too.
RECIPES = (
    Recipe(
        r"Megatron-Bridge.*container (26\.0[6-9]|26\.1|2[7-9])"
        r".*(GB[23]00 mxfp8 (?!Kimi)|B300 mxfp8 Qwen3-30B)",
        (
            *FLEX,
            ("overlaps_experts", True),
            ("fused_experts", True),
            ("host_seconds", 0.0),
            ("expert_host_seconds", 0.0),
            ("gap_seconds", 0.0),
        ),
    ),
    # Capacity is fixed: the host counts no tokens, and all experts' products have one shape.
    Recipe(r"Megatron-Bridge.*GB200.*tokendrop", (*FLEX, ("expert_host_seconds", 0.76e-3))),
    Recipe(r"Megatron-Bridge.*tokendrop", (("expert_host_seconds", 0.76e-3),)),
    # moe_flex_dispatcher_backend is unset but for B200 and B300 in 26.04.
    Recipe(r"Megatron-Bridge.*bf16 GPT-OSS"),
    Recipe(r"Megatron-Bridge.*(container 2[6-9]|GB[23]00)", FLEX),
    Recipe(""),
)


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
    # torchtitan's H100 runs are Meta's, on the same kind of node.
    Machine("torchtitan.*H100", "llama3_cluster"),
    # The ultra-scale playbook ran on AWS p5.
    Machine("nanotron.*H100", "cloud_h100"),
    Machine("", ""),
)
#: The default cluster of a GPU: its maker's own.
HOME = {
    "v100_16": "dgx_v100", "v100_32": "dgx_v100", "a100_40": "dgx_a100", "a100_80": "dgx_a100",
    "a800": "dgx_a100", "a100_pcie_40": "a100_pcie_box", "h100_sxm": "dgx_h100", "h100_pcie": "dgx_h100",
    "h200": "dgx_h200", "h800": "h800_pod", "b200": "dgx_b200", "b300": "dgx_b300", "gb200": "gb200_nvl72",
    "gb300": "gb300_nvl72", "mi300x": "mi300x_node", "mi325x": "mi300x_node",
}  # fmt: skip
GPUS = {
    "V100-16": "v100_16", "V100-32": "v100_32", "A100-40": "a100_40", "A100-80": "a100_80",
    "A100-PCIE-40": "a100_pcie_40", "A800-80": "a800", "H100-SXM": "h100_sxm", "H100": "h100_sxm",
    "H100-PCIE": "h100_pcie", "H200": "h200", "H800": "h800", "B200": "b200", "B300": "b300",
    "GB200": "gb200", "GB300": "gb300", "MI300X": "mi300x", "MI325X": "mi325x",
}  # fmt: skip


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
    Family("^Qwen3", {"qk_norm": True}),
    Family("^GPT-OSS", {"bias": True}),
    Family("", {}),
)
#: Feed-forward gated or not, when no family decides: Llama's and GPT-2's conventions.
PLAIN = {**LAYERNORM, "position": "learned", "bias": True, "tied": True}
GATED: dict[str, Any] = {}
#: Mamba layers between attention and experts (Nemotron-H, arXiv 2504.03624, and its successors).
HYBRIDS = r"^Nemotron-?(H|3[.-])"
#: Models with latent attention or without printed dimensions, by their names in small letters and
#: digits.
NAMED = {
    "deepseekv3": "deepseek_v3",
    "deepseekv2": "deepseek_v2",
    "kimik2": "kimi_k2",
    "mixtral8x7b": "mixtral_8x7b",
    "mixtral8x22b": "mixtral_8x22b",
}


@dataclass(frozen=True)
class Assumed:
    """Fields that the rows of a source hold otherwise: by what the source says or its code can do, or open
    where it says nothing."""

    pattern: str
    fields: dict[str, Any]


#: Found in the source's name.
ASSUMED = (
    # data/ground_truth_single.csv says nothing of recompute. `use_checkpoint` stands in the configurations of
    # the simulator (config/validation), which itself recomputes nothing on the last stage (src/predictor.py).
    # With full recompute the rows of hidden 2048 and tp 1 would reach 76 % of an A100's peak with unfused
    # attention, where no published run of any size passes 57 % (Korthikanti table 5). The vocabulary is that
    # of src/config.py.
    Assumed("^vTrain single-node", {"recompute": "", "vocab": 50257}),
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
#: Clusters change under a source: runs before and after are different jobs. (pattern in the source,
#: month-day at the
#: end of `where` from which the new state holds). BigScience: a PCIe and NUMA fix of 2022-02-25.
REPAIRS = (("BigScience tr11", "02-25"),)
