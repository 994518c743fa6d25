"""A DeepSpeed config and parc's own model.json -> what the target's block says of kernels and traffic."""

from typing import Any

from ....reading.facts import LaunchConfig, number_of, text_of
from ...described import known
from ..options import CHOSEN
from .described import written


def stack(config: LaunchConfig) -> dict[str, Any]:
    """Settings of the block that differ from what parc or DeepSpeed does by itself."""
    overlapped = text_of(config.setting("json", "tensor_parallel.tp_overlap_comm"))
    return {
        **{name: value for name, value in written(config, "kernels").items() if name in CHOSEN},
        **known(
            grad_dtype=_grad_dtype(config),
            accumulate="compute" if _sums_as_computed(config) else None,
            tp_overlap=True if overlapped == "True" else None,
            dp_overlap=False if _waits(config) else None,
        ),
    }


def _grad_dtype(config: LaunchConfig) -> str | None:
    """Under Ulysses a key of its own counts, and is fp32 where it is absent (runtime/constants.py)."""
    divided = number_of(config.setting("json", "sequence_parallel_size")) or 1
    key = "seq_parallel_communication_data_type" if divided > 1 else "communication_data_type"
    chosen = (text_of(config.setting("json", key)) or "").lower()
    computed = next((name for name in ("bf16", "fp16") if _on(config, f"{name}.enabled")), None)
    if divided > 1:
        chosen = chosen or "fp32"
    return chosen if chosen in ("fp32", "bf16") and chosen != computed else None


def _sums_as_computed(config: LaunchConfig) -> bool:
    """Whether gradients are added up in the dtype of the computation, as ZeRO does by itself
    (get_data_types in runtime/engine.py)."""
    stage = number_of(config.setting("json", "zero_optimization.stage")) or 0
    own = config.setting("json", "data_types.grad_accum_dtype") is None
    return stage >= 1 and own and any(_on(config, f"{name}.enabled") for name in ("bf16", "fp16"))


def _on(config: LaunchConfig, key: str) -> bool:
    return text_of(config.setting("json", key)) == "True"


def _waits(config: LaunchConfig) -> bool:
    """Whether computation waits for traffic that it could overlap: stage 2 does unless told, and a pipeline
    never overlaps (zero/config.py:384, engine.py:2663)."""
    stage = number_of(config.setting("json", "zero_optimization.stage")) or 0
    chosen = text_of(config.setting("json", "zero_optimization.overlap_comm"))
    pipelined = config.value("pp") not in (None, 1)
    return not pipelined and (chosen == "False" or (chosen is None and stage == 2))
