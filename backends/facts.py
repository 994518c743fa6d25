"""The facts of a plan that launch files of every framework state: what `read(emit(plan))` gives back."""

from __future__ import annotations

from ..compiler.plan import Plan
from .backend import Value


def plan_facts(plan: Plan) -> dict[str, Value]:
    layout, model, train = plan.layout, plan.job.model, plan.job.train
    return {
        "nodes": layout.nodes,
        "gpus_per_node": plan.job.cluster.gpus_per_node,
        "world": layout.gpus,
        "tp": layout.tp,
        "pp": layout.pp,
        "vpp": layout.vpp,
        "cp": layout.cp,
        "ep": layout.ep,
        "dp": layout.dp,
        "zero_stage": layout.zero,
        "mbs": layout.micro_batch,
        "gbs": train.global_batch,
        "seq_len": train.seq_len,
        "layers": model.layers,
        "hidden": model.hidden,
        "heads": model.heads,
        "kv_heads": model.heads if model.mla else model.groups,
        "precision": train.precision,
        "recompute": layout.recompute_name,
    }
