"""The layout's options, each with the reason and the numbers behind it."""

from ....compiler.plan import Plan
from ...link_words import and_link, link
from .. import context_ways, recomputed_modules
from ..constraints.layouts import sequence_parallel
from ..quantized_weights import kept_quantized
from ..tensor_overlap import overlapped
from .flags import Flag, flag
from .pipeline import described, split_flags

_STRATEGIES = {2: "optim_grads", 3: "optim_grads_params"}
_GIB = 2**30


def parallel_flags(plan: Plan) -> list[Flag]:
    return [
        *_tensor(plan),
        *_pipeline(plan),
        *_context(plan),
        *_experts(plan),
        *_data(plan),
    ]


def _tensor(plan: Plan) -> list[Flag]:
    tp, heads = plan.layout.tp, plan.job.model.heads
    if tp == 1:
        return []
    divided = bool(sequence_parallel(plan.job, tp))
    why = f"{heads} heads / {tp} = {heads // tp}; {link(plan, 'tp') or 'stays on the fast link'}"
    why += "" if divided else f"; {_whole_sequences(plan)}"
    found = [flag("--tensor-model-parallel-size", tp, why=why)]
    if divided:
        why = f"norms and residuals divided by {tp} as well"
        found.append(flag("--sequence-parallel", why=why))
    if plan.options.tp_overlap or (divided and overlapped(plan.job)):
        pieces = "traffic in pieces beside the products that need or make it"
        found.append(flag("--tp-comm-overlap", why=pieces))
    return found


def _whole_sequences(plan: Plan) -> str:
    said = "norms and residuals stay whole"
    if not plan.options.sequence_parallel:
        return said
    return f"{said}, as {plan.layout.tp} does not divide {plan.job.train.seq_len} tokens"


def _pipeline(plan: Plan) -> list[Flag]:
    pp = plan.layout.pp
    if pp == 1:
        return []
    totals = [sum(stage.layers) for stage in plan.estimate.stages]
    why = f"{described(totals, 'stage')}; {plan.layout.microbatches} micro-batches run through"
    return [flag("--pipeline-model-parallel-size", pp, why=why), *split_flags(plan)]


def _context(plan: Plan) -> list[Flag]:
    cp, seq_len = plan.layout.cp, plan.job.train.seq_len
    if cp == 1:
        return []
    why = f"{seq_len} tokens / {cp} = {seq_len // cp} per GPU{and_link(plan, 'cp')}"
    return [flag("--context-parallel-size", cp, why=why), *_exchange(plan)]


#: What each way of exchanging keys and values does.
_EXCHANGES = {
    "p2p": "keys and values travel a ring beside the attention",
    "all_gather": "each rank gathers the keys and values of whole sequences",
    "a2a": "each rank has whole sequences of a part of the heads",
    "hierarchical": "heads are exchanged inside a fast domain, keys and values around a ring of these",
}


def _exchange(plan: Plan) -> list[Flag]:
    layout, way = plan.layout, plan.estimate.cp_comm or "p2p"
    found = [flag("--cp-comm-type", context_ways.word(way), why=_EXCHANGES[way])]
    if way == "hierarchical":
        sizes = context_ways.sizes(plan.job, layout.tp, layout.cp)
        why = f"all-to-all among {sizes[0]}, a ring of {sizes[1]}"
        found.append(flag("--hierarchical-context-parallel-sizes", *sizes, why=why))
    return found


def _experts(plan: Plan) -> list[Flag]:
    model, layout = plan.job.model, plan.layout
    if not model.moe:
        return []
    found = []
    if layout.ep > 1:
        why = f"{model.experts} experts / {layout.ep} = {model.experts // layout.ep} per GPU"
        why += and_link(plan, "ep")
        found.append(flag("--expert-model-parallel-size", layout.ep, why=why))
    why = (
        "an expert is whole on its GPU"
        if layout.etp == 1
        else f"experts {model.expert_width} wide / {layout.etp} = {model.expert_width // layout.etp}"
    ) + and_link(plan, "etp")
    return [*found, flag("--expert-tensor-parallel-size", layout.etp, why=why)]


def _data(plan: Plan) -> list[Flag]:
    layout = plan.layout
    group = layout.dp * layout.cp
    if layout.zero >= 2:
        return [*_sharded(plan, group), *_overlaps(plan, group, gathers=True)]
    if layout.zero == 1:
        why = f"optimizer states over {group} GPUs{_share(plan, 'optimizer')}"
        found = [flag("--use-distributed-optimizer", why=why), *_quantized_weights(plan)]
        return [*found, *_overlaps(plan, group, gathers=True)]
    return _overlaps(plan, group, gathers=False)


def _quantized_weights(plan: Plan) -> list[Flag]:
    if not kept_quantized(plan.job, plan.layout.zero):
        return []
    found = [flag("--fp8-param-gather", why="no copy of the layers' weights in 16 bits")]
    if plan.job.train.precision == "mxfp8":
        why = "updated weights arrive where gradients will be"
        found.append(flag("--reuse-grad-buf-for-mxfp8-param-ag", why=why))
    return found


def _sharded(plan: Plan, group: int) -> list[Flag]:
    """Megatron-FSDP; the distributed optimizer is part of it."""
    zero = plan.layout.zero
    what = (
        "optimizer states and gradients" if zero == 2 else "optimizer states, gradients and weights"
    )
    found = [
        flag("--use-megatron-fsdp"),
        flag(
            "--data-parallel-sharding-strategy", _STRATEGIES[zero], why=f"{what} over {group} GPUs"
        ),
        flag("--use-distributed-optimizer"),
        flag(
            "--no-gradient-accumulation-fusion", why="gradients are reduced, not added up in place"
        ),
    ]
    if zero == 3:
        why = "weights are created in shares, never whole"
        found.append(flag("--init-model-with-meta-device", why=why))
    return found


def _overlaps(plan: Plan, group: int, gathers: bool) -> list[Flag]:
    if group == 1 or not plan.options.dp_overlap:
        return []
    reduce = flag(
        "--overlap-grad-reduce", why=f"gradients of {group} GPUs summed beside the backward pass"
    )
    gather = flag("--overlap-param-gather", why="updated weights arrive beside the forward pass")
    return [reduce, gather] if gathers else [reduce]


def _share(plan: Plan, term: str) -> str:
    used = plan.estimate.fullest.memory.get(term)
    return "" if used is None else f": {used / _GIB:.1f} GiB each"


def memory_flags(plan: Plan) -> list[Flag]:
    """Options of memory: the optimizer's states that are offloaded, and activations that are recomputed."""
    return [*_offloaded(plan), *_recomputed(plan)]


def _offloaded(plan: Plan) -> list[Flag]:
    if not plan.layout.offload:
        return []
    return [
        flag("--optimizer-cpu-offload", why="fp32 weights and moments live on the host"),
        flag("--optimizer-offload-fraction", "1.0"),
        flag("--use-precision-aware-optimizer", why="offload is part of it"),
        flag("--overlap-cpu-optimizer-d2h-h2d", why="gradients and weights travel meanwhile"),
    ]


def _recomputed(plan: Plan) -> list[Flag]:
    layout = plan.layout
    if layout.recompute_name == "none":
        return []
    estimate = plan.estimate
    used = f"{estimate.memory_bytes / _GIB:.1f} of {estimate.ceiling_bytes / _GIB:.1f} GiB with it"
    if layout.recompute_name in ("selective", "fine", "moe"):
        fine = layout.recompute_name != "selective"
        modules = recomputed_modules.modules(plan.job, layout.recompute) if fine else ("core_attn",)
        why = "outputs discarded once used, and made again" if fine else ""
        return [
            flag("--recompute-granularity", "selective", why=used),
            flag("--recompute-modules", *modules, why=why),
        ]
    found = [flag("--recompute-granularity", "full", why=used)]
    if not layout.recompute_layers:
        return [
            *found,
            flag("--recompute-method", "uniform"),
            flag("--recompute-num-layers", 1, why="every layer keeps its input alone"),
        ]
    why = f"of the {max(estimate.split)} layers of a chunk"
    return [
        *found,
        flag("--recompute-method", "block"),
        flag("--recompute-num-layers", layout.recompute_layers, why=why),
    ]
