"""Options of Megatron-Bridge's published recipes that change what a run costs, by release and GPU: traits to
replace where a row does not say otherwise."""

from __future__ import annotations

from benchmarks.accuracy.rows.csv_rows import Row, month_of
from benchmarks.accuracy.setups.memory_traits import Traits
from benchmarks.accuracy.setups.stacks import Stack
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
#: `cuda_graph_impl` of recipes whose whole step is one graph.
WHOLE_STEP = "full_iteration"


def recipe_of(row: Row, stack: Stack) -> Traits:
    """scripts/performance/configs/*/*_workload_base_configs.py by the tag of each container: on racks of
    GB200 and GB300 HybridEP since the first (v0.2.0), on single nodes since 26.02 (v0.3.0). Where the column
    `recipe_graph` has the whole step as one graph (MXFP8 since 26.06, v0.5.0), experts' products are fused
    too. A recipe that leaves moe_flex_dispatcher_backend unset has `alltoall` in the column `dispatcher`.
    """
    if stack.framework != "megatron-bridge":
        return FIXED_CAPACITY if row.token_drop else ()
    if row.token_drop:
        return (*(FLEX if row.gpu == "GB200" else ()), *FIXED_CAPACITY)
    if row.recipe_graph == WHOLE_STEP:
        return (*FLEX, *FUSED_EXPERTS, *(() if row.cuda_graph == 0 else GRAPHED))
    return FLEX if row.gpu in RACKS or month_of(row.framework_version) >= "2026" else ()


def offloaded_share(row: Row) -> float:
    """Share of a run's activations that waits in host memory for the backward pass."""
    return (row.offload_layers or 0) / row.layers if row.layers else 0.0
