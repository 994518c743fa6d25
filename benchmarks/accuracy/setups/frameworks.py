"""What trained the published runs: frameworks of a time and the options of their recipes, as tables.

The first entry whose pattern is found decides; every entry states where it comes from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from parc.compiler.model.parameters import dense_layer
from parc.dsl.job import Job


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
    traits: tuple[tuple[str, Any], ...] = ()


def in_16_bits(job: Job, zero: int) -> float:
    """Bytes of a kernel that adds 16-bit gradients: both are read, and the sum is written."""
    return 6.0


def in_fp32(job: Job, zero: int) -> float:
    """The same of a 16-bit gradient to an fp32 sum."""
    return 10.0


def reduces_whole(zero: int) -> bool:
    """Gradients are reduced whole at any stage."""
    return True


#: FSDP of PyTorch 1 gathers flat parameters into place (torch/distributed/fsdp/_flat_param.py).
FLAT = (("gather_copy_bytes", 0.0), ("reduce_copy_bytes", 0.0))
#: Before Megatron-LM overlapped data parallelism (2023): gradients in one piece after the backward pass
#: (megatron/model/distributed.py), updated weights after the step. ZeRO 3 of the same year (DeepSpeed 0.3):
#: the six times of SC21's table 2 at three micro-batches say that gathers hide behind three of four passes,
#: that reductions do not, and that both reach one port of a node; its copies of today are not counted. Its
#: models are Megatron-LM's, which divides the token table over tp.
OF_2022 = (
    ("whole_embedding", False),
    ("gradient_reduction", False),
    ("updated_weight_gather", False),
    ("micro_batch_reduction", False),
    ("gather_quarters", 3),
    ("wide_ports", 1),
    *FLAT,
)
#: Before reductions beside the products of weight gradients (megatron/mpu/layers.py), and before gradient
#: accumulation fusion, which came with sequence parallelism.
IN_THE_OPEN = (("tensor_parallel_backward", False),)
OF_2021 = (*OF_2022, *IN_THE_OPEN, ("sum_bytes", in_16_bits))


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
PIECES = (("tensor_parallel", True),)
#: One kernel for the loss (Transformer Engine, cross_entropy.py): 16-bit logits read twice, their gradient
#: written in their place and scaled, at 0.42 of other kernels' bandwidth (SimuMax, configs/system,
#: b200_bf16_ceperm.json: ce_fusion 0.28 of peak for 0.67).
ONE_LOSS = (("loss_bytes", 24.0),)
#: nanotron's Llama: SiLU and product are two kernels (models/llama.py), 16-bit gradients are added to fp32
#: sums by kernels of their own (optim/gradient_accumulator.py), which ZeRO 1 reduces whole (trainer.py:
#: reduce_scatter=False), updated weights are gathered after the step (optim/zero.py), and the loss keeps fp32
#: logits beside the 16-bit ones and their shifted copy.
EAGER_MEGATRON = (
    ("fused", False),
    ("sum_bytes", in_fp32),
    ("all_reduces", reduces_whole),
    ("updated_weight_gather", False),
    ("logit_bytes", 10.0),
)
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
    # torch_program.py: fp32 weights under autocast in eager PyTorch, as torchtitan on one GPU.
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
            ("updated_weight_gather", False),
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
    # DLPerf's reports are of 2021. OneFlow's collectives are taken to stand where Megatron-LM's did.
    Framework(r"DLPerf.*\(Megatron", "Megatron-LM", "megatron", "megatron", traits=OF_2021),
    Framework(r"DLPerf.*\(OneFlow", "OneFlow", "megatron", "megatron", traits=IN_THE_OPEN),
    # Priced as its table states it, with full recomputation. Both times are of its profiles, which flush the
    # profiler's records around each layer (profiler/cupti.cpp), and were chosen on its own rows.
    Framework(
        "vTrain single-node",
        "vTrain",
        "megatron",
        "megatron",
        traits=(*OF_2021, ("host_seconds", 0.38e-3), ("gap_seconds", 0.12e-3)),
    ),
    Framework("nanotron", "nanotron", "megatron", "megatron", traits=EAGER_MEGATRON),
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
            ("expert_exchange", True),
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
