"""The parts of a job -> what disagrees within or between them, whatever the framework; `CHECKS` lists all."""

from collections.abc import Callable

from .. import codes
from ..batch_ramp import MOST_STAGES
from ..diagnostics import Diagnostic
from ..job import Train
from ..model import Model
from .cluster_consistency import CLUSTER_CHECKS
from .dependent_settings import OF_ROPE_SCALING
from .evaluate import plain
from .parts import Complaints, Parts, note


def heads_divide_hidden(parts: Parts) -> Complaints:
    model = parts.model
    if model and not model.mla and model.head_dim is None and model.hidden % model.heads:
        message = (
            f"{model.heads} heads do not divide hidden {model.hidden}, and head_dim is not given"
        )
        near = [n for n in range(model.heads, 0, -1) if model.hidden % n == 0][0]
        help = f"{near} heads would, or say `head_dim = ...`"
        notes = note(parts, f"hidden is {model.hidden}", "model", "hidden")
        yield Diagnostic(codes.HEADS, message, parts.span("model", "heads"), notes=notes, help=help)


def kv_heads_divide_heads(parts: Parts) -> Complaints:
    model = parts.model
    if model and model.heads % model.groups:
        message = f"{model.groups} kv_heads do not divide {model.heads} heads"
        notes = note(parts, f"heads is {model.heads}", "model", "heads")
        yield Diagnostic(codes.KV_HEADS, message, parts.span("model", "kv_heads"), notes=notes)


#: What only a model with experts has.
_OF_EXPERTS = (
    "topk", "shared_experts", "dense_layers", "expert_ffn", "router_score", "router_norm", "router_scale",
    "router_groups", "router_limited_groups", "router_bias_rate", "aux_loss", "aux_loss_over", "z_loss",
)  # fmt: skip


def experts_agree(parts: Parts) -> Complaints:
    model = parts.model
    if not model:
        return
    if not model.moe:
        for key in _OF_EXPERTS:
            value = getattr(model, key)
            if value != Model.model_fields[key].default:
                message = f"`{key}` is {value}, but the model has no experts"
                help = "say `experts = ...`, or leave it out"
                yield Diagnostic(codes.EXPERTS, message, parts.span("model", key), help=help)
    elif not model.topk:
        message = f"{model.experts} experts need `topk`: how many a token visits"
        yield Diagnostic(codes.EXPERTS, message, parts.span("model", "experts"))
    elif model.topk > model.experts:
        message = f"topk {model.topk} is more than the {model.experts} experts"
        notes = note(parts, f"experts is {model.experts}", "model", "experts")
        yield Diagnostic(codes.EXPERTS, message, parts.span("model", "topk"), notes=notes)


def router_groups_fit(parts: Parts) -> Complaints:
    model = parts.model
    if not model or not model.moe:
        return
    groups, limited = model.router_groups, model.router_limited_groups
    if groups is None and limited is None:
        return
    key = "router_limited_groups" if groups is None else "router_groups"
    span = parts.span("model", key)
    if groups is None or limited is None:
        message = "`router_groups` and `router_limited_groups` are given together or not at all"
        yield Diagnostic(codes.ROUTER, message, span)
    elif model.experts % groups or limited > groups:
        message = f"{model.experts} experts do not form {groups} groups, of which a token visits {limited}"
        yield Diagnostic(codes.ROUTER, message, span, help="the groups divide the experts")
    elif model.topk > limited * (model.experts // groups):
        each = model.experts // groups
        message = (
            f"topk {model.topk} is more than the experts of {limited} groups of {each}, "
            "which is all that a token may visit"
        )
        help = f"say `router_limited_groups = {-(-model.topk // each)}`, or a smaller topk"
        yield Diagnostic(codes.ROUTER, message, parts.span("model", "topk"), help=help)


def rope_scaling_agrees(parts: Parts) -> Complaints:
    model = parts.model
    if not model:
        return
    kind = model.rope_scaling
    for key, kinds in OF_ROPE_SCALING.items():
        if kind not in kinds and getattr(model, key) != Model.model_fields[key].default:
            message = f"`{key}` has no meaning with `rope_scaling = {kind}`"
            help = f"say `rope_scaling = {kinds[0]}`, or leave it out"
            yield Diagnostic(codes.ROPE_SCALING, message, parts.span("model", key), help=help)
    if kind == "none":
        return
    span = parts.span("model", "rope_scaling")
    if model.position != "rope":
        message = f"`rope_scaling = {kind}` with `position = {model.position}`"
        yield Diagnostic(codes.ROPE_SCALING, message, span, help="say `rope_scaling = none`")
    if model.rope_factor == 1:
        message = f"`rope_scaling = {kind}` needs `rope_factor`: how many times longer"
        yield Diagnostic(codes.ROPE_SCALING, message, span, help="such as `rope_factor = 8`")
    if kind != "linear" and model.rope_original_positions is None:
        message = f"`rope_scaling = {kind}` needs `rope_original_positions`: the length before it"
        help = "such as `rope_original_positions = 8192`"
        yield Diagnostic(codes.ROPE_SCALING, message, span, help=help)
    low, high = {
        "llama3": ("rope_low_freq", "rope_high_freq"),
        "yarn": ("rope_beta_slow", "rope_beta_fast"),
    }.get(kind, ("rope_low_freq", "rope_high_freq"))
    if getattr(model, low) > getattr(model, high) or (
        kind == "llama3" and model.rope_low_freq == model.rope_high_freq
    ):
        message = f"`{low}` {getattr(model, low):g} is not below `{high}` {getattr(model, high):g}"
        yield Diagnostic(codes.ROPE_SCALING, message, parts.span("model", low))


def full_layers_have_windows(parts: Parts) -> Complaints:
    model = parts.model
    if not model or not model.full_attention_every:
        return
    span = parts.span("model", "full_attention_every")
    if model.window is None:
        message = "`full_attention_every` is given, but no layer has a window"
        yield Diagnostic(codes.WINDOWS, message, span, help="say `window = ...`, or leave it out")
    elif model.full_attention_every == 1:
        message = "with `full_attention_every = 1` no layer has the window"
        help = "leave both out: every layer sees all keys"
        yield Diagnostic(codes.WINDOWS, message, span, help=help)


def gates_are_there(parts: Parts) -> Complaints:
    model = parts.model
    if not model or model.gated:
        return
    for key in ("glu_clamp", "glu_offset"):
        if getattr(model, key):
            message = f"`{key}` is given, but the feed-forward block has no gate"
            span = parts.span("model", key)
            yield Diagnostic(codes.GATE, message, span, help="say `gated = true`, or leave it out")


def batch_ramp_is_even(parts: Parts) -> Complaints:
    train = parts.train
    if not train or (train.ramp_from is None and train.ramp_tokens is None):
        return
    given = "ramp_from" if train.ramp_from is not None else "ramp_tokens"
    span = parts.span("train", given)
    if train.ramp_from is None or train.ramp_tokens is None:
        message = "`ramp_from` and `ramp_tokens` are given together or not at all"
        yield Diagnostic(codes.BATCH_RAMP, message, span)
        return
    if train.ramp_from >= train.global_batch or train.global_batch % train.ramp_from:
        message = (
            f"the batch cannot grow from {plain(train.ramp_from)} in equal steps of that size to "
            f"{plain(train.global_batch)} sequences"
        )
        help = "a divisor of global_batch below it"
        yield Diagnostic(codes.BATCH_RAMP, message, span, help=help)
    elif (count := train.global_batch // train.ramp_from) > MOST_STAGES:
        message = f"the batch grows in {plain(count)} steps, at most {plain(MOST_STAGES)} fit"
        help = f"ramp_from = {-(-train.global_batch // MOST_STAGES)} or more"
        yield Diagnostic(codes.BATCH_RAMP, message, span, help=help)
    elif train.ramp_tokens < (count - 1) * train.seq_len:
        message = f"{plain(train.ramp_tokens)} tokens are too few for {plain(count)} batch sizes"
        help = f"{plain((count - 1) * train.seq_len)} or more, or a larger ramp_from"
        at = parts.span("train", "ramp_tokens")
        yield Diagnostic(codes.BATCH_RAMP, message, at, help=help)
    if train.tokens is not None and train.ramp_tokens >= train.tokens:
        message = (
            f"the batch is full after {plain(train.ramp_tokens)} tokens, past the end of training"
        )
        yield Diagnostic(codes.BATCH_RAMP, message, parts.span("train", "ramp_tokens"))


def dense_layers_fit(parts: Parts) -> Complaints:
    model = parts.model
    if model and model.moe and model.dense_layers > model.layers:
        message = f"dense_layers {model.dense_layers} is more than the {model.layers} layers"
        notes = note(parts, f"layers is {model.layers}", "model", "layers")
        span = parts.span("model", "dense_layers")
        yield Diagnostic(codes.DENSE_LAYERS, message, span, notes=notes)


def latent_sizes_are_given(parts: Parts) -> Complaints:
    model = parts.model
    if not model:
        return
    sizes = ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
    if model.mla:
        missing = [f"`{size}`" for size in sizes if not getattr(model, size)]
        if missing:
            message = (
                f"latent attention (kv_lora_rank {model.kv_lora_rank}) needs {', '.join(missing)}"
            )
            span = parts.span("model", "kv_lora_rank")
            yield Diagnostic(codes.LATENT_ATTENTION, message, span)
        return
    for size in (*sizes, "q_lora_rank"):
        if getattr(model, size):
            message = (
                f"`{size}` is {getattr(model, size)}, but kv_lora_rank is 0: no latent attention"
            )
            span = parts.span("model", size)
            help = "say `kv_lora_rank = ...`, or leave it out"
            yield Diagnostic(codes.LATENT_ATTENTION, message, span, help=help)


def rotary_size_is_even(parts: Parts) -> Complaints:
    model = parts.model
    if not model or model.position != "rope":
        return
    key = "qk_rope_head_dim" if model.mla else "head_dim" if model.head_dim else "heads"
    if not model.mla and model.head_dim is None and model.hidden % model.heads:
        return
    size = model.qk_rope_head_dim if model.mla else model.head_size
    if size % 2:
        message = f"a head of {size} elements cannot be rotated: rope turns pairs"
        help = "choose an even size, or `position = none`"
        yield Diagnostic(codes.ROTARY_SIZE, message, parts.span("model", key), help=help)


def learned_positions_reach(parts: Parts) -> Complaints:
    model, train = parts.model, parts.train
    if not model or not train or model.max_positions is None or model.position != "learned":
        return
    if train.seq_len > model.max_positions:
        message = (
            f"seq_len {train.seq_len} is more than the {model.max_positions} learned positions"
        )
        notes = note(parts, f"max_positions is {model.max_positions}", "model", "max_positions")
        help = f"say `max_positions = {train.seq_len}`"
        span = parts.span("train", "seq_len")
        yield Diagnostic(codes.POSITIONS, message, span, notes=notes, help=help)


def length_is_given_once(parts: Parts) -> Complaints:
    train = parts.train
    if not train:
        return
    if train.tokens is None and train.steps is None:
        message = f"{parts.training} has neither `tokens` nor `steps`, the length of training"
        help = "such as `tokens = 15T` or `steps = 100K`"
        yield Diagnostic(codes.LENGTH, message, parts.span("train"), help=help)
    elif train.tokens is not None and train.steps is not None:
        message = f"the length is given twice: {plain(train.tokens)} tokens and {plain(train.steps)} steps"
        notes = note(parts, "steps given here", "train", "steps")
        help = "leave one out, or say `tokens = none`"
        span = parts.span("train", "tokens")
        yield Diagnostic(codes.LENGTH, message, span, notes=notes, help=help)


def warmup_ends(parts: Parts) -> Complaints:
    train = parts.train
    if not train or (train.tokens is None and train.steps is None):
        return
    total = train.total_steps
    if train.warmup is not None and train.warmup >= max(total, 1):
        message = f"warmup of {plain(train.warmup)} steps does not end within {plain(total)} steps"
        span = parts.span("train", "warmup")
        help = f"say `warmup = {total // 20}`, or leave it out: a twentieth of a short run"
        yield Diagnostic(codes.LEARNING_RATE, message, span, help=help)
    elif train.schedule == "wsd" and train.warmup_steps + train.wsd_steps > total:
        message = (
            f"warmup of {plain(train.warmup_steps)} and decay of {plain(train.wsd_steps)} steps are "
            f"longer than the {plain(total)} steps of the run"
        )
        key = "decay_steps" if train.decay_steps is not None else "warmup"
        left = max(1, min(total // 10, total - train.warmup_steps))
        help = f"say `decay_steps = {left}`"
        yield Diagnostic(codes.LEARNING_RATE, message, parts.span("train", key), help=help)


def decay_is_of_wsd(parts: Parts) -> Complaints:
    train = parts.train
    if not train or train.schedule == "wsd":
        return
    for key in ("decay_steps", "decay_style"):
        if getattr(train, key) != Train.model_fields[key].default:
            message = f"`{key}` has no meaning with `schedule = {train.schedule}`"
            help = "say `schedule = wsd`, or leave it out"
            yield Diagnostic(codes.LEARNING_RATE, message, parts.span("train", key), help=help)


def tuning_agrees(parts: Parts) -> Complaints:
    train = parts.train
    if not train:
        return
    if train.tune is not None and train.weights is None:
        message = f"`tune = {train.tune}` has no `weights` to start from"
        help = 'name a checkpoint, such as `weights = "Qwen/Qwen3-8B"`, or leave `tune` out'
        yield Diagnostic(codes.TUNING, message, parts.span("train", "tune"), help=help)
    if train.adapters is not None:
        return
    for key in ("adapter_rank", "adapter_alpha", "adapter_targets", "adapter_dropout"):
        if parts.given("train", key):
            message = f"`{key}` has no meaning without adapters"
            help = "say `tune = lora`, or leave it out"
            yield Diagnostic(codes.TUNING, message, parts.span("train", key), help=help)


def learning_rate_falls(parts: Parts) -> Complaints:
    train = parts.train
    if not train or train.schedule == "constant":
        return
    if train.min_learning_rate > train.learning_rate:
        low, high = train.min_learning_rate, train.learning_rate
        message = f"min_learning_rate {low:g} is above learning_rate {high:g}"
        given = parts.given("train", "min_learning_rate")
        key = "min_learning_rate" if given else "learning_rate"
        help = None if given else f"say `min_learning_rate = {train.learning_rate / 10:g}`"
        yield Diagnostic(codes.LEARNING_RATE, message, parts.span("train", key), help=help)


def gpu_has_the_precision(parts: Parts) -> Complaints:
    cluster, train = parts.cluster, parts.train
    if not cluster or not train:
        return
    gpu = cluster.gpu
    if gpu.rate(train.precision) is None:
        has = [name for name in ("bf16", "fp16", "fp8", "fp4") if getattr(gpu, name) is not None]
        wanted = {"mxfp8": "fp8", "nvfp4": "fp4"}.get(train.precision, train.precision)
        message = (
            f"{gpu.name or 'the gpu'} has no {wanted} rate, which precision {train.precision} needs"
        )
        help = f"it has {', '.join(has) or 'no rate at all'}"
        notes = note(parts, f"the gpu is {gpu.name}", "cluster", "gpu")
        span = parts.span("train", "precision")
        yield Diagnostic(codes.PRECISION, message, span, notes=notes, help=help)


CHECKS: tuple[Callable[[Parts], Complaints], ...] = (
    heads_divide_hidden,
    kv_heads_divide_heads,
    experts_agree,
    router_groups_fit,
    rope_scaling_agrees,
    full_layers_have_windows,
    gates_are_there,
    batch_ramp_is_even,
    dense_layers_fit,
    latent_sizes_are_given,
    rotary_size_is_even,
    learned_positions_reach,
    length_is_given_once,
    warmup_ends,
    decay_is_of_wsd,
    learning_rate_falls,
    tuning_agrees,
    gpu_has_the_precision,
    *CLUSTER_CHECKS,
)
