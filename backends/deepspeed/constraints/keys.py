"""Demands of DeepSpeed on the keys of ds_config.json: a row a rule, with the line of 0.19.8 that says so.

Releases before were read where a row says so: 0.15.4, 0.16.9, 0.17.6 and 0.18.4.
"""

from ....compiler.target import Codes, Effect
from ...constraints import Clash, Constraint, Constraints, Need, Range

STAGE = "zero_optimization.stage"
_SAMPLING = "data_efficiency.data_sampling"
_METRICS = f"{_SAMPLING}.curriculum_learning.curriculum_metrics"
_AUTOCAST, _QUANTIZED = (
    "torch_autocast.enabled true",
    "zero_optimization.zero_quantized_weights true",
)
_SUM = "gradient_allreduce_op sum"


def _stages(*stages: int) -> tuple[str, ...]:
    return tuple(f"{STAGE} {stage}" for stage in stages)


def _stage(stage: int) -> str:
    return f'"stage": {stage}'


NEEDS = (
    Need(
        "fp16.fp16_master_weights_and_grads", _stages(2), "0.17.6 runtime/config.py:977", "true",
        until="0.18", help=_stage(2),
    ),
    *(
        Need(key, _stages(1, 2, 3), "runtime/config.py:702-712", "true", since="0.18", help=_stage(1))
        for key in (
            "fp16.fp16_master_weights_and_grads", "bf16.bf16_master_weights_and_grads",
            "bf16.bf16_optimizer_states",
        )
    ),
    Need(
        "bf16.bf16_optimizer_states", ("bf16.bf16_master_weights_and_grads true",),
        "runtime/config.py:714", "true", since="0.18",
    ),
    Need(
        "zero_optimization.compute_grad_norm", _stages(1, 2), "runtime/zero/config.py:391", "false",
        since="0.19", help=_stage(1),
    ),
    Need(
        "prescale_gradients", ("zero_optimization.reduce_scatter false",),
        "runtime/zero/stage_1_and_2.py:351", "true", where=f"{STAGE} 2",
    ),
    Need(
        f"{_SAMPLING}.dynamic_batching.enabled", (f"{_SAMPLING}.dynamic_batching.max_tokens",),
        "runtime/data_pipeline/config.py:108", "true", since="0.16",
    ),
    Need(
        f"{_SAMPLING}.curriculum_learning.enabled", (_METRICS,),
        "runtime/data_pipeline/config.py:88", "true",
    ),
)  # fmt: skip

EXCLUDES = (
    Clash(_SUM, f"{STAGE} 3", "runtime/config.py:694", since="0.19"),
    Clash(_SUM, "compile.deepcompile true", "runtime/config.py:699", since="0.19"),
    Clash(_AUTOCAST, _QUANTIZED, "runtime/torch_autocast.py:32", since="0.17"),
)

#: DeepSpeed takes the pair, and the engine moves nothing.
OFFLOAD = (
    *(
        Need(
            f"zero_optimization.{section}.device", _stages(*range(least, 4)),
            "runtime/zero/config.py accepts the pair, runtime/engine.py ignores it", device,
            "DeepSpeed moves nothing otherwise", effect=Effect.IGNORES, help=_stage(least),
        )
        for section, least in (("offload_param", 3), ("offload_optimizer", 1))
        for device in ("cpu", "nvme")
    ),
    Need(
        "zero_optimization.offload_optimizer.ratio", _stages(3), "runtime/zero/config.py:399",
        Range.BELOW_ONE, help=_stage(3),
    ),
)  # fmt: skip

#: Rows by which a stage of ZeRO and another key stop DeepSpeed, which the compiler asks of `extra`.
OF_STAGE: tuple[Constraint, ...] = (
    *(row for row in NEEDS if any(need.startswith(f"{STAGE} ") for need in row.needs)),
    *(row for row in EXCLUDES if row.other.startswith(f"{STAGE} ")),
    *(row for row in OFFLOAD if row.effect is Effect.STOPS),
)

#: The swapper joins the path with a folder's name (runtime/swap_tensor/partitioned_param_swapper.py:86,
#: runtime/zero/stage3.py:840), and models that are made under `zero.Init` stop before
#: (runtime/zero/partition_parameters.py:1229).
FOLDERS = tuple(
    Need(
        f"zero_optimization.{section}.device", (f"zero_optimization.{section}.nvme_path",), source,
        "nvme", help='"nvme_path": "/local_nvme"',
    )
    for section, source in (
        ("offload_param", "runtime/zero/partition_parameters.py:1229"),
        ("offload_optimizer", "runtime/zero/stage3.py:840"),
    )
)  # fmt: skip

#: Loaded, and found without effect.
IDLE: tuple[Constraint, ...] = (
    *(
        Need(
            f"zero_optimization.{key}", _stages(3), "runtime/zero/stage3.py alone reads it", "true",
            "other stages do not read it", effect=Effect.IGNORES, where=STAGE, help=_stage(3),
        )
        for key in ("zero_quantized_weights", "zero_quantized_nontrainable_weights")
    ),
    Clash(
        _AUTOCAST, "bf16.enabled true", "0.17.6 runtime/torch_autocast.py:33", "keep one", since="0.17",
        until="0.18",
    ),
    Clash(
        _AUTOCAST, "bf16.enabled true", "runtime/torch_autocast.py: it trains in one of the two",
        "keep one", since="0.18", effect=Effect.IGNORES,
    ),
)  # fmt: skip

#: DeepSpeed takes any number, and only stage 3 keeps a second copy of the weights.
SECONDARY = (
    Need(
        "zero_optimization.zero_hpz_partition_size", _stages(3), "runtime/zero/stage3.py:265",
        Range.ABOVE_ONE, "other stages do not read it", effect=Effect.IGNORES, where=STAGE, help=_stage(3),
    ),
)  # fmt: skip

PRECISIONS = tuple(
    Clash("fp16.enabled true", f"{brain}.enabled true", "runtime/config.py:511", "keep one")
    for brain in ("bf16", "bfloat16")
)

#: Codes of rows about keys that `extra` may say.
CODES: Codes = {
    "PAR303": ("option-needs", "an option without another one that it needs"),
    "PAR312": ("options-exclude", "two options that exclude each other"),
}

CONSTRAINTS: Constraints = {
    "PAR303": NEEDS,
    "PAR312": EXCLUDES,
    "PAR405": OFFLOAD,
    "PAR412": SECONDARY,
    "PAR417": FOLDERS,
    "PAR418": IDLE,
    "PAR501": PRECISIONS,
}
