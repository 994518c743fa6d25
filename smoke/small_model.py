"""The model and training of a job -> small ones of the same structure: narrow widths, short sequences."""

from collections.abc import Iterator
from math import ceil, lcm

from ..compiler.model.parameters import total
from ..compiler.target import divisors
from ..dsl.job import Train
from ..dsl.model import Model

#: Widths of a head; fused attention on GPUs needs at least the first.
HEAD, NARROW_HEAD = 8, 4
#: Number of heads above which the second width is used.
MANY_HEADS = 64
#: Widths are multiples of this, so that degrees of up to 16 divide them.
MULTIPLE = 16
#: Tokens of a sequence per context-parallel rank: one block of torchtitan 0.3.0's attention masks, and more
#: where that block is too short.
SEQUENCE, LONG_SEQUENCE = 128, 1024
#: Parameters aimed at: a few processes on a few cores train them in seconds.
PARAMETERS = 8_000_000
#: Length before YaRN's scaling at most, where its bounds are not rounded: torchtitan's gpt_oss wants them
#: between the waves of a head, of which a narrow one has few.
ORIGINAL = 4096
#: Rates at which the loss of so small a model falls within a few steps, with moments and without.
RATE, PLAIN_RATE = 1e-3, 0.1
#: The most experts.
EXPERTS = 16
#: The most layers, and those of a job that keeps states in host memory: each waits for its weights.
LAYERS, OFFLOADED_LAYERS = 64, 8
#: Parts of a sequence: windows see one, and scaled rotary positions were trained up to one.
PARTS = 4
#: Residual width of latent attention (MLA), about, and its sizes, for those that the job's model has.
LATENT_HIDDEN = 128
LATENT = {
    "q_lora_rank": 32,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 8,
    "v_head_dim": 8,
}


def small_model(
    model: Model, seq_len: int, stages: int, length: int, most_layers: int = LAYERS
) -> Model:
    """`model` with narrow heads, a small vocabulary and as many layers as `PARAMETERS` and `most_layers`
    allow, at least one for each of `stages`; its sequences have `length` tokens in place of `seq_len`.
    """
    changed = _widths(model) | _experts(model) | _lengths(model, seq_len, length)
    narrow = model.model_copy(update=changed)
    *deeper, least = (narrow.model_copy(update=depth) for depth in _depths(model, stages))
    return next((size for size in deeper if _trains(size, length, most_layers)), least)


def _trains(model: Model, length: int, most_layers: int) -> bool:
    return model.layers <= most_layers and total(model, seq_len=length) <= PARAMETERS


def _widths(model: Model) -> dict[str, int | None]:
    """Widths by field; the vocabulary keeps its remainder modulo 16, so that an odd one stays odd."""
    head = HEAD if model.heads <= MANY_HEADS else NARROW_HEAD
    hidden = _latent_hidden(model) if model.mla else _scaled(model.hidden, head / model.head_size)
    widths: dict[str, int | None] = {
        "hidden": hidden,
        "ffn": _scaled(model.ffn, hidden / model.hidden),
        "vocab": 256 + model.vocab % 16,
    }
    if model.head_dim or hidden != model.heads * head:
        widths["head_dim"] = None if model.mla else head
    if model.expert_ffn:
        widths["expert_ffn"] = _scaled(model.expert_ffn, hidden / model.hidden)
    if model.mla:
        widths |= {name: size for name, size in LATENT.items() if getattr(model, name)}
    return widths


def _latent_hidden(model: Model) -> int:
    """A multiple of the heads where the model's width is one: frameworks divide the two for other sizes."""
    unit = MULTIPLE if model.hidden % model.heads else lcm(MULTIPLE, model.heads)
    return ceil(LATENT_HIDDEN / unit) * unit


def _scaled(width: int, shrink: float) -> int:
    return max(1, round(width * shrink / MULTIPLE)) * MULTIPLE


def _experts(model: Model) -> dict[str, int]:
    if model.experts <= EXPERTS:
        return {}
    experts = max(divisors(model.experts, EXPERTS))
    topk = min(model.topk, max(1, experts // 2))
    return {"experts": experts, "topk": topk} | _groups(model, experts, topk)


def _groups(model: Model, experts: int, topk: int) -> dict[str, int]:
    """Groups of at least two experts where the model's are, so that their best two decide; a token visits the
    same share of them, and finds its experts there."""
    if model.router_groups is None or model.router_limited_groups is None:
        return {}
    least = min(2, model.experts // model.router_groups)
    groups = max(divisors(experts, max(1, min(model.router_groups, experts // least))))
    share = model.router_limited_groups / model.router_groups
    limited = min(max(1, round(share * groups)), topk)
    visited = min(topk, limited * (experts // groups))
    return {
        "router_groups": groups,
        "router_limited_groups": limited,
        "topk": visited // limited * limited,
    }


def _lengths(model: Model, seq_len: int, length: int) -> dict[str, int]:
    lengths: dict[str, int] = {}
    if model.max_positions:
        lengths["max_positions"] = length
    if model.window:
        lengths["window"] = length // PARTS if model.window < seq_len else length
    if model.rope_original_positions:
        original = length // PARTS if model.rope_truncate else ORIGINAL
        lengths["rope_original_positions"] = min(model.rope_original_positions, original)
    return lengths


def _depths(model: Model, stages: int) -> Iterator[dict[str, int]]:
    """Layers, dense layers and the distance of layers that see all keys, the deepest first; uneven over the
    stages where the model's are."""
    uneven = int(stages > 1 and model.layers % stages > 0)
    least = max(2, stages, 2 if model.dense_layers else 1) + uneven
    wanted, layers = [model.layers], model.layers // 2
    while layers > least:
        wanted.append(layers // stages * stages + uneven)
        layers //= 2
    for depth in [*wanted, min(model.layers, least)]:
        yield {
            "layers": depth,
            "dense_layers": min(model.dense_layers, max(1, depth // 4)),
            "full_attention_every": _distance(model, depth),
        }


def _distance(model: Model, depth: int) -> int:
    """The distance of full-attention layers with which one layer of a shallower model sees all keys, as some
    do in the deep one."""
    every = model.full_attention_every
    return every if not 0 < every <= model.layers else min(every, max(2, depth))


def small_train(train: Train, steps: int, length: int, batch: int, gpus: bool) -> Train:
    """`steps` steps of `batch` sequences of `length` tokens, at a learning rate that makes the loss fall.

    Its weights are drawn and its batch does not grow. Without `gpus` in bf16 and uncompiled, which is what
    CPUs train, and with checkpoints written at once.
    """
    rate = PLAIN_RATE if train.optimizer == "sgd" else RATE
    warmup = min(train.warmup_steps, 2, steps - 1)
    changed: dict[str, object] = {
        "seq_len": length,
        "global_batch": batch,
        "tokens": None,
        "steps": steps,
        "warmup": warmup,
        "decay_steps": train.decay_steps and max(1, min(train.decay_steps, (steps - warmup) // 2)),
        "ramp_from": None,
        "ramp_tokens": None,
        "weights": None,
        "carry": "weights",
        "tracker": None,
        "learning_rate": rate,
        "min_learning_rate": rate * min(1.0, train.min_learning_rate / train.learning_rate),
        "checkpoint_interval": steps,
    }
    if not gpus:
        changed |= {"precision": "bf16", "compile": False, "async_checkpoints": False}
    return train.model_copy(update=changed)
