"""Frameworks of a time, as a table: what prices a run of each release, and what blanks of its rows mean.

`framework` and `framework_version` of a row choose the newest entry that is no newer; every entry states
where it comes from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.accuracy.rows.csv_rows import Row, month_of
from benchmarks.accuracy.setups import memory_traits
from benchmarks.accuracy.setups.memory_traits import Traits
from parc.backends.pytorch_kernels import COMPILED_LOSS
from parc.compiler.model.parameters import dense_layer
from parc.compiler.risk import SPREAD
from parc.dsl.job import Job


@dataclass(frozen=True)
class Stack:
    """A framework from `since` (year-month) on, and the target whose traits price it below and at ZeRO
    stage 3.

    `traits` replaces those of the target where the framework is known to differ from it, `memory(row)` those
    that the run decides. `attention` is its fused attention kernel, `compiles` whether runs of it compile
    unless they say otherwise, `pieces` whether tensor-parallel traffic can travel in pieces beside products,
    `zero` the stage of a run that does not say, `recompute` its mode
    where the framework's own configuration sets one. `blocks` is true where selective
    recompute repeats whole blocks, `saves_ends` where a
    full recompute repeats neither a block's first nor its last product, `whole_experts` where tp does not
    divide experts unless a row says so, `torch` where the kernels are PyTorch's, `compiled` what compiling
    changes beside fused kernels. `memory_spread` is the scale
    of ln(measured / predicted bytes), from `fit_memory.py`.
    """

    framework: str
    target: str
    sharded: str
    since: str = ""
    attention: str = "te"
    compiles: bool = False
    pieces: bool = True
    zero: int | None = None
    recompute: str = ""
    blocks: bool = False
    saves_ends: bool = False
    whole_experts: bool = True
    torch: bool = True
    traits: Traits = ()
    compiled: Traits = ()
    memory: Callable[[Row], Traits] = memory_traits.of_the_target
    memory_spread: float = SPREAD


def in_16_bits(job: Job, zero: int) -> float:
    """Bytes of a kernel that adds 16-bit gradients: both are read, and the sum is written."""
    return 6.0


def in_fp32(job: Job, zero: int) -> float:
    """Bytes per parameter to add a 16-bit gradient to an fp32 sum."""
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
#: The recipes leave moe_router_padding_for_fp8 unset.
PADDED_COPIES = ("padded_copies", True)
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
#: The framework of rows that no machine ran: what vTrain's simulator makes of 32 profiles of one layer
#: (vtrain_rows.py has the proof).
SIMULATOR = "vtrain-simulator"
#: By framework, oldest first. Attention: Megatron-LM has FlashAttention since January 2023
#: (megatron/model/transformer.py) and Transformer Engine's by default since Megatron-core 0.5 (January 2024).
STACKS = (
    # llmfoundry/models/mpt/modeling_mpt.py: flash-attn's cross entropy on 16-bit logits, and their
    # gradient. scripts/train/benchmarking/submit_benchmarks.py: attn_impl triton.
    Stack(
        "llm-foundry",
        "torchtitan",
        "torchtitan",
        attention="triton",
        traits=(("logit_bytes", 4.0), ("loss_bytes", 10.0), *FLAT),
    ),
    Stack(
        "fms-fsdp",
        "torchtitan",
        "torchtitan",
        attention="sdpa",
        compiles=True,
        blocks=True,
        traits=FLAT,
    ),
    Stack("torchtitan", "torchtitan", "torchtitan", attention="sdpa"),
    # From its H100 report of December 2024 on runs compile unless they say otherwise
    # (benchmarks/llama3_h100_202412_torchtitan.md).
    Stack(
        "torchtitan",
        "torchtitan",
        "torchtitan",
        since="2024-12",
        attention="sdpa",
        compiles=True,
    ),
    # components/loss.py compiles the loss with the model since pull request 1033.
    Stack(
        "torchtitan",
        "torchtitan",
        "torchtitan",
        since="2025-04",
        attention="sdpa",
        compiles=True,
        compiled=tuple(COMPILED_LOSS.items()),
    ),
    # torch_program.py: fp32 weights under autocast in eager PyTorch, as torchtitan on one GPU.
    Stack("pytorch", "torchtitan", "torchtitan", attention="sdpa"),
    # Meta's own trainer: FSDP, TP, PP and all-gather CP as torchtitan has them, but inputs and outputs of
    # stages and whatever else the backward pass does not need are freed at once, a stage runs several
    # micro-batches in a row, sums their gradients and reduces once, gradients are divided, gathered weights
    # stay (arXiv 2407.21783, 3.3.2). It ran 8,192 tokens without recomputation, for which there is room when
    # a SwiGLU keeps three tensors, as a fused one does, and not four.
    Stack(
        "meta-llama3",
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
    # XLA: JAX on GPUs shards as FSDP does, gathers into place and fuses elementwise work. Blocks are repeated
    # unless a run says otherwise (configs/base.yml: remat_policy full); scripts for H100 (configs/a3) keep
    # queries, keys and values (remat_policy=save_qkv_proj), and XLA drops a block's last product from what is
    # repeated, since nothing of the backward pass reads it.
    Stack(
        "maxtext",
        "torchtitan",
        "torchtitan",
        compiles=True,
        zero=3,
        recompute="full",
        saves_ends=True,
        traits=FLAT,
    ),
    Stack("pax", "torchtitan", "torchtitan", compiles=True, zero=3, traits=FLAT),
    # internlm/solver/optimizer/hybrid_zero_optim.py: gradients travel in 16 bits, updated weights after the
    # step (overlap_sync_param is off in the test's configuration), broadcast by each rank that owns some.
    # doc/en/install.md: flash-attention 1.0.5.
    Stack(
        "internevo",
        "megatron",
        "torchtitan",
        attention="fa1",
        traits=(
            ("reduce_bytes", 2.0),
            ("updated_weight_gather", False),
            ("gather_bucket", owned),
        ),
    ),
    # The pipeline of before February 2021: each rank sends whole activations (megatron/p2p_communication.py
    # came with the option to scatter them).
    Stack(
        "megatron-lm",
        "megatron",
        "deepspeed",
        attention="megatron-softmax",
        pieces=False,
        traits=(*OF_2021, ("whole_boundary", True)),
        memory=memory_traits.megatron_of_2021,
    ),
    Stack(
        "megatron-lm",
        "megatron",
        "deepspeed",
        since="2021-02",
        attention="megatron-softmax",
        pieces=False,
        traits=OF_2021,
        memory=memory_traits.megatron_of_2021,
    ),
    Stack(
        "megatron-lm",
        "megatron",
        "megatron",
        since="2022-05",
        attention="megatron-softmax",
        pieces=False,
        traits=OF_2022,
    ),
    # Experts take tp by Megatron-core's default (expert_tensor_parallel_size).
    Stack(
        "megatron-lm",
        "megatron",
        "megatron",
        since="2023",
        attention="fa2",
        whole_experts=False,
    ),
    Stack("megatron-lm", "megatron", "megatron", since="2024", whole_experts=False),
    Stack(
        "megatron-deepspeed",
        "megatron",
        "deepspeed",
        attention="megatron-softmax",
        pieces=False,
        traits=OF_2021,
        memory=memory_traits.megatron_deepspeed,
    ),
    # Megatron-DeepSpeed fused its gradient accumulation with its merge of 2023 (megatron/core).
    Stack(
        "megatron-deepspeed",
        "megatron",
        "deepspeed",
        since="2023",
        attention="fa2",
        pieces=False,
        traits=OF_2022,
        memory=memory_traits.megatron_deepspeed,
    ),
    # arXiv 2311.05610, 3: AA-Scaling, the authors' own trainer after Megatron-LM's layers. Its runs say that
    # neither its reduction nor the gather of updated weights hides, as in Megatron-LM before 2023; 13B
    # parameters undivided leave room for gradients in 16 bits alone.
    Stack(
        "aleph-alpha",
        "megatron",
        "megatron",
        attention="fa2",
        pieces=False,
        traits=(*OF_2022, *IN_THE_OPEN, *memory_traits.ALEPH_ALPHA, ("fused", False)),
    ),
    # docs/source/performance: tp_comm_overlap with user buffers.
    Stack(
        "nemo",
        "megatron",
        "megatron",
        zero=1,
        whole_experts=False,
        traits=(*PIECES, PADDED_COPIES),
        memory=memory_traits.of_performance_recipes,
    ),
    Stack("nemo-automodel", "torchtitan", "torchtitan", compiles=True, zero=3),
    # scripts/performance: the same; cross_entropy_fusion_impl is te.
    Stack(
        "megatron-bridge",
        "megatron",
        "megatron",
        zero=1,
        traits=(*PIECES, *ONE_LOSS, PADDED_COPIES),
        memory=memory_traits.of_performance_recipes,
    ),
    # DLPerf's reports are of 2021. OneFlow's collectives are taken to stand where Megatron-LM's did.
    Stack(
        "oneflow",
        "megatron",
        "megatron",
        attention="unfused",
        pieces=False,
        torch=False,
        traits=IN_THE_OPEN,
        memory=memory_traits.oneflow_plan,
    ),
    # A simulator; its rows have full recomputation. Both times are of its profiles, which flush the
    # profiler's records around each layer (profiler/cupti.cpp), and were chosen on its own rows.
    Stack(
        SIMULATOR,
        "megatron",
        "megatron",
        attention="megatron-softmax",
        pieces=False,
        traits=(*OF_2021, ("host_seconds", 0.38e-3), ("gap_seconds", 0.12e-3)),
    ),
    Stack(
        "nanotron",
        "megatron",
        "megatron",
        attention="fa2",
        traits=EAGER_MEGATRON,
        memory=memory_traits.nanotron_sums,
    ),
    # arXiv 2412.19437, 3.2 and 3.3: dispatch in fp8 with a scale of fp32 for each 128 values, combine in 16
    # bits, both beside the work of another micro-batch (DualPipe), of which the share that Megatron-Core
    # measured is taken; its shorter bubble is not: the 2.06 s of a step that its authors measured (arXiv
    # 2505.09343, table 4) are those of 1F1B.
    Stack(
        "hai-llm",
        "megatron",
        "megatron",
        zero=1,
        traits=(
            ("dispatch", "tokens"),
            ("dispatch_bytes", 1 + 4 / 128),
            ("expert_exchange", True),
        ),
    ),
    Stack("primus", "megatron", "megatron", zero=1, whole_experts=False),
    Stack(
        "deepspeed",
        "megatron",
        "deepspeed",
        attention="unfused",
        pieces=False,
        traits=OF_2021,
        memory=memory_traits.deepspeed_of_2021,
    ),
    Stack("deepspeed", "deepspeed", "deepspeed", since="2023", attention="fa2"),
)
#: A framework that the table lacks, and the one of a row that names none. Its spread is that of the table's
#: frameworks, each priced so (fit_memory.py).
PLAIN = Stack("", "megatron", "torchtitan", attention="te", memory_spread=0.104)


def stack_of(row: Row, stacks: Sequence[Stack] = STACKS) -> Stack:
    """The newest entry of a row's framework that is no newer than what ran. Raises Unusable for a version
    that is neither a tag nor a date."""
    version = month_of(row.framework_version)
    found = [
        stack
        for stack in stacks
        if stack.framework == row.framework and (not version or stack.since <= version)
    ]
    return found[-1] if found else PLAIN


def familiar(framework: str) -> bool:
    return any(stack.framework == framework for stack in STACKS)
