"""The model and training of a job -> small ones of the same structure: narrow widths, short sequences."""

from collections.abc import Iterator

from ..compiler.model.parameters import total
from ..compiler.rules.candidate_degrees import LEAST_CONTEXT_TOKENS
from ..compiler.target import divisors
from ..dsl.job import Model, Train

#: Widths of a head; fused attention on GPUs needs at least the first.
HEAD, NARROW_HEAD = 8, 4
#: Number of heads above which the second width is used.
MANY_HEADS = 64
#: Widths are multiples of this, so that degrees of up to 16 divide them.
MULTIPLE = 16
#: Tokens of a sequence per context-parallel rank: one block of torchtitan 0.3.0's attention masks, and the
#: least that parc's rules allow where that block is too short.
SEQUENCE, LONG_SEQUENCE = 128, LEAST_CONTEXT_TOKENS
#: Parameters aimed at: a few processes on a few cores train them in seconds.
PARAMETERS = 8_000_000
#: Learning rate at which the loss of so small a model falls within a few steps.
RATE = 1e-3
#: The most experts.
EXPERTS = 16
#: Sizes of latent attention (MLA), for those that the job's model has, and its residual width.
LATENT = {
    "hidden": 128,
    "q_lora_rank": 32,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 8,
    "v_head_dim": 8,
}


def small_model(model: Model, seq_len: int, stages: int, length: int) -> Model:
    """`model` with narrow heads, a small vocabulary and as many layers as `PARAMETERS` allow, at least one
    for each of `stages`; its sequences have `length` tokens in place of `seq_len`."""
    changed = _widths(model) | _experts(model) | _lengths(model, seq_len, length)
    narrow = model.model_copy(update=changed)
    *deeper, least = (narrow.model_copy(update=depth) for depth in _depths(model, stages))
    return next((size for size in deeper if total(size, seq_len=length) <= PARAMETERS), least)


def _widths(model: Model) -> dict[str, int | None]:
    """Widths by field; the vocabulary keeps its remainder modulo 16, so that an odd one stays odd."""
    head = HEAD if model.heads <= MANY_HEADS else NARROW_HEAD
    hidden = LATENT["hidden"] if model.mla else _scaled(model.hidden, head / model.head_size)
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


def _scaled(width: int, shrink: float) -> int:
    return max(1, round(width * shrink / MULTIPLE)) * MULTIPLE


def _experts(model: Model) -> dict[str, int]:
    if model.experts <= EXPERTS:
        return {}
    experts = max(divisors(model.experts, EXPERTS))
    return {"experts": experts, "topk": min(model.topk, max(1, experts // 2))}


def _lengths(model: Model, seq_len: int, length: int) -> dict[str, int]:
    lengths: dict[str, int] = {}
    if model.max_positions:
        lengths["max_positions"] = length
    if model.window:
        lengths["window"] = length // 4 if model.window < seq_len else length
    return lengths


def _depths(model: Model, stages: int) -> Iterator[dict[str, int]]:
    """Layers and dense layers, the deepest first; uneven over the stages where the model's are."""
    uneven = int(stages > 1 and model.layers % stages > 0)
    least = max(2, stages, 2 if model.dense_layers else 1) + uneven
    wanted, layers = [model.layers], model.layers // 2
    while layers > least:
        wanted.append(layers // stages * stages + uneven)
        layers //= 2
    for depth in [*wanted, min(model.layers, least)]:
        yield {"layers": depth, "dense_layers": min(model.dense_layers, max(1, depth // 4))}


def small_train(train: Train, steps: int, length: int, batch: int, gpus: bool) -> Train:
    """`steps` steps of `batch` sequences of `length` tokens, at a learning rate that makes the loss fall.

    Without `gpus` in bf16 and uncompiled, which is what CPUs train.
    """
    changed: dict[str, object] = {
        "seq_len": length,
        "global_batch": batch,
        "tokens": None,
        "steps": steps,
        "warmup": min(train.warmup, 2),
        "learning_rate": RATE,
        "min_learning_rate": RATE * min(1.0, train.min_learning_rate / train.learning_rate),
        "checkpoint_interval": steps,
    }
    if not gpus:
        changed |= {"precision": "bf16", "compile": False}
    return train.model_copy(update=changed)
