"""Answers to predicates that Megatron-LM's options and defaults decide, and facts do not hold."""

from ....dsl.batch_ramp import Stage
from ....reading.facts import LaunchConfig, number_of, text_of
from ...reader import Answers, Asked, Missing
from .described import stores_scores
from .model import default_ffn
from .ramp import batch_ramp


def fork(config: LaunchConfig) -> str | None:
    forks = {"deepspeed": "Megatron-DeepSpeed", "swift": "ms-swift"}
    return forks.get(config.kind.variant)


def _ffn(asked: Asked) -> int:
    given = asked.option("--ffn-hidden-size")
    if given is not None:
        return given
    return default_ffn(asked.number("hidden"), asked.config.given("--swiglu"))


def _zero_unless(option: str, name: str, asked: Asked) -> int:
    """A count that is 0 without an option, and that this reader does not take from it."""
    if asked.config.given(option):
        raise Missing(name)
    return 0


def _head_size(asked: Asked) -> int:
    given = asked.option("--kv-channels")
    return given or asked.number("hidden") // max(asked.number("heads"), 1)


def _attention(asked: Asked) -> str:
    return "unfused" if stores_scores(asked.config) else "flash"


def _recompute_layers(asked: Asked) -> int:
    """Layers that the block method recomputes in each chunk; 0 stands for all."""
    if text_of(asked.config.option("--recompute-method")) != "block":
        return 0
    return number_of(asked.config.option("--recompute-num-layers")) or 0


def _ramp(asked: Asked) -> tuple[Stage, ...]:
    """The stages of a growing batch; one of no size where it does not grow."""
    found = batch_ramp(asked.config)
    if found is None and asked.config.given("--step-batch-size-schedule", "--rampup-batch-size"):
        raise Missing("ramp")
    return found.stages if found else (Stage(0, 0),)


ANSWERS: Answers = {
    "ramp": _ramp,
    "ramp_from": lambda asked: _ramp(asked)[0].batch,
    "mla": lambda asked: asked.config.given("--multi-latent-attention"),
    "ffn": _ffn,
    "dense_layers": lambda asked: _zero_unless("--moe-layer-freq", "dense_layers", asked),
    "shared_experts": lambda asked: _zero_unless(
        "--moe-shared-expert-intermediate-size", "shared_experts", asked
    ),
    "expert_width": lambda asked: asked.option("--moe-ffn-hidden-size") or _ffn(asked),
    "bias": lambda asked: not asked.config.given("--disable-bias-linear"),
    "window": lambda asked: 1 if asked.config.given("--window-size") else None,
    "head_size": _head_size,
    "attention": _attention,
    "recompute_layers": _recompute_layers,
}
