"""Demands of torchtitan on its settings: a row a rule, with the line of 0.2.2 that says so."""

from ....compiler.target import Codes
from ...constraints import Clash, Constraints, Need

_QUANTIZED = "checkpoint.initial_load_in_hf_quantized"
#: Where releases have had it.
_ASYNC = tuple(
    f"{section}.enable_async_tensor_parallel"
    for section in ("parallelism", "compile", "experimental")
)

NEEDS = (
    # 0.2.0 :573, 0.3.0 components/checkpointer/base.py:302.
    Need(_QUANTIZED, ("checkpoint.initial_load_in_hf true",), "components/checkpoint.py:591", "true"),
    Need(
        _QUANTIZED, ("checkpoint.initial_load_path",), "0.3.0 components/checkpointer/base.py:302", "true",
        since="0.3",
    ),
)  # fmt: skip

EXCLUDES = (
    # 0.2.0 :566, 0.3.0 components/checkpointer/base.py:300.
    Clash(
        "checkpoint.initial_load_in_hf true",
        "checkpoint.initial_load_model_only false",
        "components/checkpoint.py:585",
    ),
    # 0.2.0 :777, 0.3.0 components/checkpointer/base.py:309.
    Clash(
        "checkpoint.last_save_in_hf true",
        "checkpoint.last_save_model_only false",
        "components/checkpoint.py:801",
    ),
    # 0.2.0 :65; from 0.3 on there is no such setting.
    Clash(
        "quantize.linear.float8.recipe_name",
        "quantize.linear.float8.enable_fsdp_float8_all_gather true",
        "components/quantization/float8.py:66",
        until="0.3",
    ),
)

#: Tensor parallelism overlaps its traffic in what torch.compile makes of the model, and nowhere else.
COMPILED = tuple(
    Need(
        name, ("compile.enable true", "training.compile true"), "distributed/tensor_parallel.py:20", "true",
        where=f"{section}.tensor_parallel_degree > 1", help="enable = true in [compile]",
    )
    for name in _ASYNC
    for section in ("parallelism", "training")
)  # fmt: skip

#: Codes of rows about settings that `extra` may say.
CODES: Codes = {
    "PAR303": ("option-needs", "an option without another one that it needs"),
    "PAR312": ("options-exclude", "two options that exclude each other"),
}

CONSTRAINTS: Constraints = {"PAR303": NEEDS, "PAR312": EXCLUDES, "PAR366": COMPILED}
