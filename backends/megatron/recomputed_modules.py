"""`recompute = fine` and `moe`: modules of `--recompute-modules` whose outputs Megatron-LM discards once they
are used (tensor_parallel.CheckpointWithoutOutput), as far as a job's layers have them, and the feed-forward
of dense layers before experts: their stage holds most micro-batches in flight, and waits for no expert. `moe`
repeats the whole MoE half in place of its activation functions.

Transformer Engine's linear layers contain the norms before them, all but those before latent attention and
before experts (core_v0.19.0 core/models/gpt/gpt_layer_specs.py).
"""

from collections.abc import Collection

from ...compiler.target import Effect, Predicate
from ...compiler.traits import Discardable
from ...compiler.variables import FINE, WHOLE_MOE
from ...dsl.job import Job
from .emit.experts import grouped
from .releases import from_release
from .transformer_engine import recipe_of

CONFIG = "core_v0.19.0 megatron/core/transformer/transformer_config.py"
#: The module that discards each output, in the order in which a layer has them.
MODULES: dict[Discardable, str] = {
    "attention_norm": "layernorm",
    "up_projections": "mla_up_proj",
    "dense_ffn": "mlp",
    "expert_norm": "layernorm",
    "expert_activation": "moe_act",
}


#: The module that repeats the MoE half of a layer: router, exchange of tokens, experts, shared experts.
MOE = "moe"


def modules(job: Job, recompute: int) -> tuple[str, ...]:
    """Words of --recompute-modules for `recompute = fine` or `moe`, each once."""
    words = _words(discarded(job))
    return _whole(words) if recompute == WHOLE_MOE else words


def _words(outputs: Collection[Discardable]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(MODULES[output] for output in outputs))


def _whole(words: Collection[str]) -> tuple[str, ...]:
    """The words of `fine` with the whole MoE half in place of its activation functions."""
    return (*(word for word in words if word != MODULES["expert_activation"]), MOE)


def mode_of(
    words: Collection[str], latent: bool, experts: bool, grouped: bool, dense: bool, delayed: bool
) -> str | None:
    """`fine` or `moe` where the words of --recompute-modules are theirs, by what a command says of its model:
    latent attention, experts, their products grouped, dense layers beside them, delayed scaling."""
    outputs = _left(_outputs(latent, experts, experts and grouped, experts and dense), delayed)
    fine = _words(outputs)
    if fine and set(fine) == set(words):
        return "fine"
    return "moe" if experts and set(_whole(fine)) == set(words) else None


def discarded(job: Job) -> tuple[Discardable, ...]:
    """Outputs of the job's layers that `recompute = fine` discards."""
    return () if _lost_in_fp4(job) else _unquantized(job)


def layer_outputs(job: Job) -> tuple[Discardable, ...]:
    """Outputs of the job's layers that some precision and release can discard; none of a dense model without
    latent attention."""
    model = job.model
    return _outputs(model.mla, model.moe, grouped(job), model.moe and model.dense_layers > 0)


def _unquantized(job: Job) -> tuple[Discardable, ...]:
    return _left(layer_outputs(job), _delayed(job))


def _outputs(latent: bool, experts: bool, grouped: bool, dense: bool) -> tuple[Discardable, ...]:
    """In the order of MODULES. Experts discard what grouped products alone take again (CONFIG:1784)."""
    has = {
        "attention_norm": latent,
        "up_projections": latent,
        "dense_ffn": dense,
        "expert_norm": experts,
        "expert_activation": grouped,
    }
    return tuple(output for output in MODULES if has[output])


def _left(outputs: tuple[Discardable, ...], delayed: bool) -> tuple[Discardable, ...]:
    """Outputs that can be discarded with delayed scaling: its products save their quantized inputs."""
    left = ("up_projections", "dense_ffn") if delayed else tuple(MODULES)
    return tuple(each for each in outputs if each in left)


def _delayed(job: Job) -> bool:
    return recipe_of(job) == "delayed"


def _lost_in_fp4(job: Job) -> bool:
    """Before 0.16 only fp8 was made again in fp8 (core_v0.15.3 multi_latent_attention.py:784), and products
    in fp4 saved inputs of their own (core_v0.15.3 transformer_layer.py:413)."""
    return job.train.precision == "nvfp4" and not from_release(job, "0.16")


def _nothing(job: Job) -> str:
    if _delayed(job) and job.model.moe:
        return "norms and activations of experts stay with fp8_recipe delayed; tensorwise discards them"
    return "the layers of a dense model have none of its modules without latent attention"


PREDICATES = (
    Predicate(
        "PAR448",
        "fine-nothing",
        "fine recomputation of layers that have nothing to discard",
        ("recompute",),
        lambda job, recompute: (recompute != FINE) | bool(_unquantized(job)),
        lambda job, recompute: f"recompute fine has nothing to discard: {_nothing(job)}",
        f"{CONFIG}:1784 to 1829",
    ),
    Predicate(
        "PAR449",
        "fine-fp4",
        "fine recomputation in nvfp4 before 0.16",
        ("recompute",),
        lambda job, recompute: (recompute != FINE) | (not _lost_in_fp4(job)),
        lambda job, recompute: (
            "before Megatron-LM 0.16 recompute fine repeats products of nvfp4 in 16 bits"
        ),
        "core_v0.15.3 megatron/core/transformer/multi_latent_attention.py:784",
        stricter="Megatron-LM starts, and computes other values than those that it discarded",
        effect=Effect.WORSE,
    ),
)
