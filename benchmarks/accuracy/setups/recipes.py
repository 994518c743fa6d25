"""Options of Megatron-Bridge's published recipes that change what a run costs, by release and GPU: traits to
replace where a row does not say otherwise."""

from __future__ import annotations

from benchmarks.accuracy.rows.csv_rows import Row
from benchmarks.accuracy.setups.memory_traits import Traits
from benchmarks.accuracy.setups.stacks import Stack, month_of
from parc.backends import host

#: One launch for a whole step.
GRAPHED: Traits = tuple(host.GRAPHED.items())
#: HybridEP or DeepEP in place of NCCL's all-to-all (moe_flex_dispatcher_backend).
FLEX: Traits = (("dispatch", "tokens"),)
#: moe_a2a_overlap and cutedsl_fused_grouped_mlp.
FUSED_EXPERTS: Traits = (("expert_exchange", True), ("fused_experts", True))
#: Capacity is fixed: the host counts no tokens, and all experts' products have one shape.
FIXED_CAPACITY: Traits = (("expert_host_seconds", 0.76e-3),)
RACKS = ("GB200", "GB300")
#: Layers of 80 whose activations wait in host memory in the recipes of Llama 3 70B under Megatron-FSDP
#: (cpu_offloading_num_layers in llama3_workload_base_configs.py of v0.2.0 to v0.5.0), by GPU and precision.
OFFLOADED = {
    ("GB300", "bf16"): 30,
    ("GB300", "fp8"): 20,
    ("GB200", "bf16"): 20,
    ("GB200", "fp8"): 40,
}


def recipe_of(row: Row, stack: Stack) -> Traits:
    """scripts/performance/configs/*/*_workload_base_configs.py by the tag of each container: on racks of
    GB200 and GB300 HybridEP since the first (v0.2.0), on single nodes since 26.02 (v0.3.0); on racks MXFP8
    runs the whole step as one graph since 26.06 (v0.5.0: cuda_graph_impl full_iteration), but for Kimi; Qwen3
    30B on B300 too. GPT-OSS in bf16 leaves moe_flex_dispatcher_backend unset but for B200 and B300 in 26.04.
    """
    if stack.framework != "megatron-bridge":
        return FIXED_CAPACITY if row.token_drop else ()
    if row.token_drop:
        return (*(FLEX if row.gpu == "GB200" else ()), *FIXED_CAPACITY)
    if _graphed(row):
        return (*FLEX, *FUSED_EXPERTS, *(() if row.cuda_graph == 0 else GRAPHED))
    if row.precision == "bf16" and row.model.startswith("GPT-OSS"):
        return ()
    return FLEX if row.gpu in RACKS or month_of(row.framework_version) >= "2026" else ()


def _graphed(row: Row) -> bool:
    if month_of(row.framework_version) < "2026-06" or row.precision != "mxfp8":
        return False
    if row.gpu in RACKS:
        return not row.model.startswith("Kimi")
    return row.gpu == "B300" and row.model.startswith("Qwen3-30B")


def offloaded_share(row: Row, stack: Stack) -> float:
    """Share of a run's activations that waits in host memory for the backward pass."""
    sharded = stack.framework == "megatron-bridge" and row.zero_stage == 3
    if not (sharded and row.layers and row.model == "Llama-3-70B"):
        return 0.0
    return OFFLOADED.get((row.gpu, row.precision), 0) / row.layers
