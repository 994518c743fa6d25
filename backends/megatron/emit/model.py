"""The model's options: architecture, attention, experts, latent attention, multi-token prediction."""

from ....compiler.plan import Plan
from ....dsl.job import Model
from ..options import Options
from .flags import Flag, flag, switches

_NORMS = {"rmsnorm": "RMSNorm", "layernorm": "LayerNorm"}
_POSITIONS = {"rope": "rope", "learned": "learned_absolute", "none": "none"}
#: Megatron-LM's own default, which need not be said.
_DEFAULT_EPSILON = 1e-5


def model_flags(plan: Plan) -> list[Flag]:
    model, options = plan.job.model, plan.options
    return [
        *_sizes(plan),
        *_positions(model),
        *_blocks(model),
        *_dropout(plan),
        *_attention(plan),
        *(_latent(model) if model.mla else []),
        *(_prediction(model, options) if model.mtp_layers else []),
    ]


def _sizes(plan: Plan) -> list[Flag]:
    model, seq_len = plan.job.model, plan.job.train.seq_len
    found = [
        flag("--num-layers", model.layers),
        flag("--hidden-size", model.hidden),
        flag("--ffn-hidden-size", model.ffn),
        flag("--num-attention-heads", model.heads),
    ]
    if model.groups != model.heads and not model.mla:
        found += [*switches("--group-query-attention"), flag("--num-query-groups", model.groups)]
    if model.head_size * model.heads != model.hidden and not model.mla:
        found.append(flag("--kv-channels", model.head_size))
    positions = max(model.max_positions or seq_len, seq_len)
    return [*found, flag("--seq-length", seq_len), flag("--max-position-embeddings", positions)]


def _positions(model: Model) -> list[Flag]:
    found = [flag("--position-embedding-type", _POSITIONS[model.position])]
    if model.position == "rope":
        found.append(flag("--rotary-base", int(model.rope_theta)))
    return found


def _blocks(model: Model) -> list[Flag]:
    found = [flag("--normalization", _NORMS[model.norm])]
    if model.norm_eps != _DEFAULT_EPSILON:
        found.append(flag("--norm-epsilon", model.norm_eps))
    wanted = {
        "--swiglu": model.gated,
        "--squared-relu": model.activation_name == "squared_relu",
        # transformer_config.py:2118 of 0.19.2: the fused kernel exists for gelu and silu.
        "--no-bias-gelu-fusion": model.activation_name == "squared_relu" and model.bias,
        "--disable-bias-linear": not model.bias,
        "--add-qkv-bias": model.qkv_bias and not model.bias,
        # Latent attention normalises its two compressed vectors only when this is on.
        "--qk-layernorm": model.qk_norm or model.mla,
        "--untie-embeddings-and-output-weights": not model.tied,
    }
    return found + switches(*(name for name, on in wanted.items() if on))


def _dropout(plan: Plan) -> list[Flag]:
    dropout = plan.job.train.dropout
    return [flag("--attention-dropout", dropout), flag("--hidden-dropout", dropout)]


def _attention(plan: Plan) -> list[Flag]:
    train, model = plan.job.train, plan.job.model
    found = []
    if model.window is not None:
        why = f"a token sees itself and the {model.window - 1} before it"
        found.append(flag("--window-size", f"{model.window - 1},0", why=why))
    side = train.seq_len // plan.layout.cp
    if train.attention == "unfused":
        why = f"keeps the {side} x {train.seq_len} scores of every head"
        return [*found, flag("--attention-backend", "unfused", why=why)]
    backend = "fused" if plan.job.cluster.gpu.vendor == "nvidia" else "auto"
    why = f"never stores the {side} x {train.seq_len} scores"
    return [*found, flag("--attention-backend", backend, why=why)]


def _latent(model: Model) -> list[Flag]:
    found = switches("--multi-latent-attention")
    if model.q_lora_rank:
        found.append(flag("--q-lora-rank", model.q_lora_rank))
    return [
        *found,
        flag("--kv-lora-rank", model.kv_lora_rank),
        flag("--qk-head-dim", model.qk_nope_head_dim),
        flag("--qk-pos-emb-head-dim", model.qk_rope_head_dim),
        flag("--v-head-dim", model.v_head_dim),
        flag("--rope-type", "rope", why="latent attention would take yarn"),
        flag("--no-rope-fusion", why="its fused kernel knows yarn alone"),
    ]


def _prediction(model: Model, options: Options) -> list[Flag]:
    return [
        flag("--mtp-num-layers", model.mtp_layers),
        flag("--mtp-loss-scaling-factor", options.mtp_loss),
    ]


def expert_flags(plan: Plan) -> list[Flag]:
    """Options of the routed and shared experts; empty for a dense model."""
    model, options = plan.job.model, plan.options
    if not model.moe:
        return []
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
    if model.topk == 1:
        found += switches("--moe-router-pre-softmax")
    found += [
        flag("--moe-router-load-balancing-type", "aux_loss"),
        flag("--moe-aux-loss-coeff", options.aux_loss),
        flag("--moe-router-dtype", "fp32"),
        flag("--moe-token-dispatcher-type", "alltoall"),
        *switches("--moe-grouped-gemm", "--moe-permute-fusion"),
    ]
    if plan.job.train.precision in ("fp8", "mxfp8"):
        why = "fp8 products need padded token counts"
        found.append(flag("--moe-router-padding-for-quantization", why=why))
    return found
