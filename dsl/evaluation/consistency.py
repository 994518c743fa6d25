"""The parts of a job -> what disagrees within or between them, whatever the framework; `CHECKS` lists all."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .. import codes
from ..diagnostics import Diagnostic, Note, Span
from ..job import Cluster, Model, Train
from .evaluate import plain


@dataclass(frozen=True)
class Parts:
    """The parts of a job that could be built; `span` finds a setting in the text, `given` if it is there."""

    model: Model | None
    cluster: Cluster | None
    train: Train | None
    span: Callable[..., Span | None]
    given: Callable[..., bool]


Complaints = Iterator[Diagnostic]


def _note(parts: Parts, text: str, *path: str) -> tuple[Note, ...]:
    return (Note(text, parts.span(*path)),) if parts.given(*path) else (Note(text),)


def heads_divide_hidden(parts: Parts) -> Complaints:
    model = parts.model
    if model and not model.mla and model.head_dim is None and model.hidden % model.heads:
        message = (
            f"{model.heads} heads do not divide hidden {model.hidden}, and head_dim is not given"
        )
        near = [n for n in range(model.heads, 0, -1) if model.hidden % n == 0][0]
        help = f"{near} heads would, or say `head_dim = ...`"
        notes = _note(parts, f"hidden is {model.hidden}", "model", "hidden")
        yield Diagnostic(codes.HEADS, message, parts.span("model", "heads"), notes=notes, help=help)


def kv_heads_divide_heads(parts: Parts) -> Complaints:
    model = parts.model
    if model and model.heads % model.groups:
        message = f"{model.groups} kv_heads do not divide {model.heads} heads"
        notes = _note(parts, f"heads is {model.heads}", "model", "heads")
        yield Diagnostic(codes.KV_HEADS, message, parts.span("model", "kv_heads"), notes=notes)


def experts_agree(parts: Parts) -> Complaints:
    model = parts.model
    if not model:
        return
    if not model.moe:
        for key in ("topk", "shared_experts", "dense_layers", "expert_ffn"):
            value = getattr(model, key)
            if value:
                message = f"`{key}` is {value}, but the model has no experts"
                help = "say `experts = ...`, or leave it out"
                yield Diagnostic(codes.EXPERTS, message, parts.span("model", key), help=help)
    elif not model.topk:
        message = f"{model.experts} experts need `topk`: how many a token visits"
        yield Diagnostic(codes.EXPERTS, message, parts.span("model", "experts"))
    elif model.topk > model.experts:
        message = f"topk {model.topk} is more than the {model.experts} experts"
        notes = _note(parts, f"experts is {model.experts}", "model", "experts")
        yield Diagnostic(codes.EXPERTS, message, parts.span("model", "topk"), notes=notes)


def dense_layers_fit(parts: Parts) -> Complaints:
    model = parts.model
    if model and model.moe and model.dense_layers > model.layers:
        message = f"dense_layers {model.dense_layers} is more than the {model.layers} layers"
        notes = _note(parts, f"layers is {model.layers}", "model", "layers")
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
        notes = _note(parts, f"max_positions is {model.max_positions}", "model", "max_positions")
        help = f"say `max_positions = {train.seq_len}`"
        span = parts.span("train", "seq_len")
        yield Diagnostic(codes.POSITIONS, message, span, notes=notes, help=help)


def length_is_given_once(parts: Parts) -> Complaints:
    train = parts.train
    if not train:
        return
    if train.tokens is None and train.steps is None:
        message = "`train` says neither `tokens` nor `steps`: how long to train"
        help = "such as `tokens = 15T` or `steps = 100K`"
        yield Diagnostic(codes.LENGTH, message, parts.span("train"), help=help)
    elif train.tokens is not None and train.steps is not None:
        message = f"the length is given twice: {plain(train.tokens)} tokens and {plain(train.steps)} steps"
        notes = _note(parts, "steps given here", "train", "steps")
        help = "leave one out, or say `tokens = none`"
        span = parts.span("train", "tokens")
        yield Diagnostic(codes.LENGTH, message, span, notes=notes, help=help)


def warmup_ends(parts: Parts) -> Complaints:
    train = parts.train
    if not train or (train.tokens is None and train.steps is None):
        return
    if parts.given("train", "warmup") and train.warmup >= train.total_steps:
        steps = plain(train.total_steps)
        message = f"warmup of {plain(train.warmup)} steps does not end within {steps} steps"
        span = parts.span("train", "warmup")
        yield Diagnostic(codes.LEARNING_RATE, message, span)


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
        has = [name for name in ("bf16", "fp16", "fp8") if gpu.rate(name) is not None]
        wanted = "fp8" if train.precision == "mxfp8" else train.precision
        message = (
            f"{gpu.name or 'the gpu'} has no {wanted} rate, which precision {train.precision} needs"
        )
        help = f"it has {', '.join(has) or 'no rate at all'}"
        notes = _note(parts, f"the gpu is {gpu.name}", "cluster", "gpu")
        span = parts.span("train", "precision")
        yield Diagnostic(codes.PRECISION, message, span, notes=notes, help=help)


def domain_fits_nodes(parts: Parts) -> Complaints:
    cluster = parts.cluster
    if not cluster:
        return
    per_node, domain = cluster.gpus_per_node, cluster.domain
    if max(per_node, domain) % min(per_node, domain):
        message = f"nvlink_domain {domain} and gpus_per_node {per_node}: neither divides the other"
        yield Diagnostic(codes.DOMAIN, message, parts.span("cluster", "nvlink_domain"))
    if cluster.pod_gpus is not None and cluster.pod_network is None:
        message = (
            f"pods of {plain(cluster.pod_gpus)} GPUs need `pod_network`: the bandwidth between them"
        )
        yield Diagnostic(codes.DOMAIN, message, parts.span("cluster", "pod_gpus"))


CHECKS: tuple[Callable[[Parts], Complaints], ...] = (
    heads_divide_hidden,
    kv_heads_divide_heads,
    experts_agree,
    dense_layers_fit,
    latent_sizes_are_given,
    rotary_size_is_even,
    learned_positions_reach,
    length_is_given_once,
    warmup_ends,
    learning_rate_falls,
    gpu_has_the_precision,
    domain_fits_nodes,
)
