"""Why each degree of a layout is what it is, with its numbers: the comments of train.toml."""

from collections.abc import Callable

from ....compiler.plan import Plan
from ...link_words import and_link, link

GIB = 2**30
STATES = ("weights", "gradients", "optimizer")


def degrees(plan: Plan) -> dict[str, str]:
    """Comments by key of [parallelism]; a degree of 1 needs none."""
    layout = plan.layout
    shown: dict[str, tuple[bool, Callable[[Plan], str]]] = {
        "data_parallel_replicate_degree": (layout.dp_replicate > 1, _replicas),
        "data_parallel_shard_degree": (layout.dp_shard > 1, _shards),
        "fsdp_reshard_after_forward": (layout.zero > 0, _reshard),
        "tensor_parallel_degree": (layout.tp > 1, _tensor),
        "pipeline_parallel_degree": (layout.pp > 1, _pipeline),
        "pipeline_parallel_schedule": (layout.pp > 1, _schedule),
        "pipeline_parallel_expert_parallel_overlap": (layout.order_name == "dualpipev", _in_turn),
        "context_parallel_degree": (layout.cp > 1, _context),
        "expert_parallel_degree": (layout.ep > 1, _experts),
    }
    return {key: reason(plan) for key, (needed, reason) in shown.items() if needed}


def recompute(plan: Plan) -> str:
    activations = plan.estimate.fullest.memory.get("activations")
    rest = f"; activations take {activations / GIB:.1f} GiB" if activations else ""
    return {
        0: "nothing is recomputed",
        1: "keeps attention and every other product",
        2: "keeps each block's input",
    }[plan.layout.recompute] + rest


def batch(plan: Plan) -> dict[str, str]:
    """Comments on the batch sizes of [training]."""
    layout, train = plan.layout, plan.job.train
    comments = {} if train.clip_grad else {"max_norm": "no clipping"}
    if layout.pp == 1:
        shares = f"{layout.micro_batch} x dp {layout.dp} x {layout.microbatches} accumulation steps"
        return comments | {"global_batch_size": shares}
    return comments | {
        "local_batch_size": f"{layout.microbatches} micro-batches of {layout.micro_batch}, one pipeline pass",
        "global_batch_size": f"{layout.micro_batch * layout.microbatches} x dp {layout.dp}",
    }


def _in_turn(plan: Plan) -> str:
    return "passes in turn, as they are priced"


def _replicas(plan: Plan) -> str:
    layout = plan.layout
    if layout.zero == 0:
        return f"DDP: all of the model on each of {layout.dp_replicate} GPUs"
    return f"HSDP: {layout.dp_replicate} copies, each over {layout.dp_shard * layout.cp} shards"


def _shards(plan: Plan) -> str:
    layout, fullest = plan.layout, plan.estimate.fullest
    shards = layout.dp_shard * layout.cp
    kept = sum(fullest.memory.get(kind, 0) for kind in STATES)
    size = f": {kept / GIB:.1f} GiB of states on the fullest rank" if kept else ""
    beside = f" = dp_shard {layout.dp_shard} x cp {layout.cp}" if layout.cp > 1 else ""
    return f"FSDP2 over {shards} GPUs{beside}{size}"


def _reshard(plan: Plan) -> str:
    return {
        1: "gathered once per step; freed weights would be gathered for each micro-batch",
        2: "weights stay gathered from forward to backward: one gather per micro-batch",
        3: "weights freed after forward, gathered again for backward",
    }[plan.layout.zero]


def _tensor(plan: Plan) -> str:
    model, tp = plan.job.model, plan.layout.tp
    heads = f"{model.heads} heads / {tp} = {model.heads // tp}"
    shared = (
        ""
        if model.mla or model.groups == model.heads
        else f", {model.groups} kv heads / {tp} = {model.groups // tp}"
    )
    inside = f"within {plan.job.cluster.domain} GPUs on NVLink"
    return f"{heads}{shared}; {link(plan, 'tp') or inside}"


def _pipeline(plan: Plan) -> str:
    split = plan.estimate.split
    shown = str(split[0]) if len(set(split)) == 1 else ", ".join(map(str, split))
    return f"layers per stage: {shown}"


def _schedule(plan: Plan) -> str:
    layout, estimate = plan.layout, plan.estimate
    stages = "one stage" if layout.vpp == 1 else f"{layout.vpp} stages"
    return f"{stages} per rank, {layout.microbatches} micro-batches: {100 * estimate.bubble:.1f} % bubble"


def _context(plan: Plan) -> str:
    tokens, cp = plan.job.train.seq_len, plan.layout.cp
    return f"{tokens:,} tokens / {cp} = {tokens // cp:,} per GPU{and_link(plan, 'cp')}"


def _experts(plan: Plan) -> str:
    model, ep = plan.job.model, plan.layout.ep
    return f"{model.experts} experts / {ep} = {model.experts // ep} per GPU{and_link(plan, 'ep')}"
