"""The options of experts: their sizes, the router, what balances them, and how their products run."""

from ....compiler.plan import Plan
from ....dsl.job import Job
from ....dsl.model import Model
from ...capability import AMPERE, older_nvidia
from ..dispatcher import flex
from ..exchange_overlap import overlaps
from ..releases import has
from ..transformer_engine import SIDE_MULTIPLE
from .flags import Flag, flag, switches

#: What the balancing loss looks at -> the loss by its name (core/transformer/moe/router.py).
BALANCING = {
    "micro_batch": "aux_loss",
    "sequence": "seq_aux_loss",
    "global_batch": "global_aux_loss",
}


def expert_flags(plan: Plan) -> list[Flag]:
    """Options of the routed and shared experts; empty for a dense model."""
    model = plan.job.model
    if not model.moe:
        return []
    return [*_sizes(model), *_router(model), *_balance(model), *_products(plan)]


def grouped(job: Job) -> bool:
    """Whether all experts of a GPU run in one product: Transformer Engine's kernel needs Ampere, and before
    that they run one after another (core/transformer/moe/experts.py, SequentialMLP)."""
    return job.model.moe and not older_nvidia(job, AMPERE)


def _sizes(model: Model) -> list[Flag]:
    found = [
        flag("--num-experts", model.experts),
        flag("--moe-router-topk", model.topk),
        flag("--moe-ffn-hidden-size", model.expert_width),
    ]
    if model.shared_experts:
        width = model.shared_experts * model.expert_width
        found.append(flag("--moe-shared-expert-intermediate-size", width))
    if model.dense_layers:
        pattern = f"([0]*{model.dense_layers}+[1]*{model.moe_layers})"
        why = f"the first {model.dense_layers} layers stay dense"
        found.append(flag("--moe-layer-freq", pattern, why=why))
    return found


def _router(model: Model) -> list[Flag]:
    """Softmax scores over the chosen experts alone are the scores divided by their sum (moe_utils.py:839)."""
    found = [flag("--moe-router-score-function", model.router_score)]
    if model.router_score == "softmax" and not model.router_norm:
        why = "scores are not divided by their sum"
        found.append(flag("--moe-router-pre-softmax", why=why))
    if model.router_scale != 1:
        found.append(flag("--moe-router-topk-scaling-factor", model.router_scale))
    if model.router_groups:
        why = f"a token visits experts of {model.router_limited_groups} groups"
        found += [
            flag("--moe-router-num-groups", model.router_groups, why=why),
            flag("--moe-router-group-topk", model.router_limited_groups),
        ]
    return [*found, flag("--moe-router-dtype", "fp32")]


def _balance(model: Model) -> list[Flag]:
    found = []
    if model.router_bias_rate:
        why = "steps of a bias that decides the choice alone"
        found += [
            flag("--moe-router-enable-expert-bias"),
            flag("--moe-router-bias-update-rate", model.router_bias_rate, why=why),
        ]
    if model.aux_loss:
        kind = BALANCING[model.aux_loss_over]
        found.append(flag("--moe-router-load-balancing-type", kind))
        found.append(flag("--moe-aux-loss-coeff", model.aux_loss))
    else:
        found.append(flag("--moe-router-load-balancing-type", "none"))
    if model.z_loss:
        why = "keeps the router's logits small"
        found.append(flag("--moe-z-loss-coeff", model.z_loss, why=why))
    return found


def _dispatcher(plan: Plan) -> list[Flag]:
    if not flex(plan.job, plan.layout.tp, plan.layout.ep):
        return [flag("--moe-token-dispatcher-type", "alltoall")]
    why = "a token travels once to each rank that has any of its experts"
    backend = flag("--moe-flex-dispatcher-backend", plan.options.dispatcher, why=why)
    if not has(plan.job, backend.name):
        backend = flag("--moe-enable-deepep", why=why)
    return [flag("--moe-token-dispatcher-type", "flex"), backend]


def _overlap(plan: Plan) -> list[Flag]:
    if not overlaps(plan.job, plan.layout.ep):
        return []
    why = "tokens travel beside the work of another micro-batch"
    return [flag("--overlap-moe-expert-parallel-comm", why=why)]


def _products(plan: Plan) -> list[Flag]:
    found = [*_dispatcher(plan), *_overlap(plan)]
    if grouped(plan.job):
        found += switches("--moe-grouped-gemm", "--moe-permute-fusion")
        if plan.job.model.bias:
            # experts.py:204 of 0.19.2
            why = "grouped experts with biases refuse it"
            found.append(flag("--no-bias-dropout-fusion", why=why))
    if plan.job.train.precision in SIDE_MULTIPLE:
        why = "quantized products need padded token counts"
        newer, older = "--moe-router-padding-for-quantization", "--moe-router-padding-for-fp8"
        found.append(flag(newer if has(plan.job, newer) else older, why=why))
    return found
