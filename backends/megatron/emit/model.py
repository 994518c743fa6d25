"""The model's options: architecture, blocks, attention, latent attention, multi-token prediction."""

from ....compiler.plan import Plan
from ....dsl.model import Model
from ..transformer_engine import ATTENTION
from .experts import grouped
from .flags import Flag, flag, switches
from .positions import latent_rope, position_flags

_NORMS = {"rmsnorm": "RMSNorm", "layernorm": "LayerNorm"}
#: Megatron-LM's own defaults, which need not be said.
_DEFAULT_EPSILON = 1e-5
_DEFAULT_DEVIATION = 0.02


def model_flags(plan: Plan) -> list[Flag]:
    model = plan.job.model
    return [
        *_sizes(plan),
        *position_flags(model),
        *_blocks(model),
        *_gate(plan),
        *_first_weights(model),
        *_dropout(plan),
        *_attention(plan),
        *(_latent(model) if model.mla else []),
        *(_prediction(model) if model.mtp_layers else []),
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
    found += _head_size(model)
    positions = max(model.max_positions or seq_len, seq_len)
    return [*found, flag("--seq-length", seq_len), flag("--max-position-embeddings", positions)]


def _head_size(model: Model) -> list[Flag]:
    """arguments.py:1292 of 0.19.2 divides hidden by heads where it is not said, with latent attention too."""
    if model.mla:
        if model.hidden % model.heads == 0:
            return []
        why = "unused by latent attention; else the heads would have to divide hidden"
        return [flag("--kv-channels", model.v_head_dim, why=why)]
    if model.head_size * model.heads == model.hidden:
        return []
    return [flag("--kv-channels", model.head_size)]


def _blocks(model: Model) -> list[Flag]:
    found = [flag("--normalization", _NORMS[model.norm])]
    if model.norm_eps != _DEFAULT_EPSILON:
        found.append(flag("--norm-epsilon", model.norm_eps))
    wanted = {
        "--swiglu": model.activation_name == "silu",
        "--quick-geglu": model.activation_name == "quick_gelu",
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


def _gate(plan: Plan) -> list[Flag]:
    """Clamp and offset of a gated block, and the fused kernels that do not know them.

    The fused quick-GeGLU is for experts in grouped products: dense and shared blocks have none (mlp.py:287 of
    0.19.2), and without grouped products it clamps before it adds the bias. The fused SwiGLU knows neither.
    """
    model, found = plan.job.model, []
    if model.glu_offset:
        found.append(flag("--glu-linear-offset", model.glu_offset))
    if model.glu_clamp is not None:
        found.append(flag("--activation-func-clamp-value", model.glu_clamp))
    everywhere = grouped(plan.job) and not model.dense_layers and not model.shared_experts
    if model.activation_name == "quick_gelu" and not everywhere:
        why = "its kernel is for grouped experts alone"
        found.append(flag("--no-bias-gelu-fusion", why=why))
    elif model.activation_name == "silu" and found:
        found.append(flag("--no-bias-swiglu-fusion", why="its kernel would leave them out"))
    return found


def _first_weights(model: Model) -> list[Flag]:
    if model.init_std == _DEFAULT_DEVIATION:
        return []
    why = "of the first weights; those that write to the residual stream begin smaller"
    return [flag("--init-method-std", model.init_std, why=why)]


def _dropout(plan: Plan) -> list[Flag]:
    dropout = plan.job.train.dropout
    return [flag("--attention-dropout", dropout), flag("--hidden-dropout", dropout)]


def _attention(plan: Plan) -> list[Flag]:
    train, model = plan.job.train, plan.job.model
    found = [*_windows(model), *_sinks(model)]
    side = train.seq_len // plan.layout.cp
    if train.attention == "unfused":
        why = f"keeps the {side} x {train.seq_len} scores of every head"
        return [*found, flag("--attention-backend", "unfused", why=why)]
    return [*found, *_fused_attention(plan, f"never stores the {side} x {train.seq_len} scores")]


def _fused_attention(plan: Plan, why: str) -> list[Flag]:
    """AMD's Transformer Engine chooses its own kernels."""
    kernel = plan.options.attention_kernel
    backend, version = ATTENTION[kernel]
    if kernel == "cudnn" and plan.job.cluster.gpu.vendor != "nvidia":
        backend = "auto"
    found = [flag("--attention-backend", backend, why=why)]
    if version is not None:
        found.append(flag("--flash-attention-version", version, why="no other is tried"))
    return found


def _windows(model: Model) -> list[Flag]:
    if model.window is None:
        return []
    why = f"a token sees itself and the {model.window - 1} before it"
    found = [flag("--window-size", f"{model.window - 1},0", why=why)]
    if model.full_attention_every:
        why = f"layers {model.full_attention_every}, {2 * model.full_attention_every}, ... see all"
        found.append(flag("--window-attn-skip-freq", model.full_attention_every, why=why))
    return found


def _sinks(model: Model) -> list[Flag]:
    if not model.attention_sinks:
        return []
    why = "each head learns a logit that takes part without a value"
    return [flag("--softmax-type", "learnable", why=why)]


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
        *latent_rope(model),
    ]


def _prediction(model: Model) -> list[Flag]:
    return [
        flag("--mtp-num-layers", model.mtp_layers),
        flag("--mtp-loss-scaling-factor", model.mtp_weight),
    ]
