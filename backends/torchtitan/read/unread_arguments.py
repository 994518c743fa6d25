"""A registered model -> the arguments that a job does not say: what importing it loses."""

import ast
from collections.abc import Iterator

from ....dsl.inputs.documents import python_module
from ....reading.facts import LaunchConfig, Setting, text_of
from .models import COMMON, DEFAULTS, EXPERTS, SCALED_ALWAYS, SCALING

_SIZES = {"dim", "n_layers", "n_heads", "n_kv_heads"}
#: Arguments that a job says, by the class that takes them.
READ: dict[str, set[str]] = {
    "TransformerModelArgs": {"multiple_of", "ffn_dim_multiplier", "rope_scaling_args"},
    "Qwen3ModelArgs": {"enable_weight_tying", "moe_enabled", "moe_args"},
    "DeepSeekV3ModelArgs": {"inter_dim", "moe_args"},
    "GptOssModelArgs": {"moe_args"},
    "MoEArgs": {*EXPERTS},
    "RoPEScalingArgs": {*SCALING},
}
#: Of no meaning for what is trained: buffers' sizes, kernels of the same result.
MEANINGLESS = {
    "max_seq_len", "max_batch_size", "attn_type", "use_flex_attn", "eos_id", "dtype", "use_grouped_mm",
}  # fmt: skip
#: Values that a job's model has without saying so: masks without documents, scores after the experts.
OWN = {"attn_mask_type": "causal", "score_before_experts": False}
#: Of gpt_oss, whose router has a bias as all its layers do.
BIASED = ("gate_bias", True)


def unread(config: LaunchConfig) -> Iterator[Setting]:
    """Named by their class, such as `MoEArgs.gate_bias`, where they stand."""
    flavor = text_of(config.setting("toml", "model.flavor"))
    for path, text in config.texts.items():
        if path.endswith(".py") and "ModelArgs" in text:
            for call in _registered_calls(text, flavor):
                yield from _unread(path, call, ast.unparse(call.func))


def _registered_calls(text: str, flavor: str | None) -> Iterator[ast.Call]:
    try:
        statements = python_module(text).body
    except (SyntaxError, ValueError):
        return
    for statement in statements:
        match statement:
            case ast.Assign(
                targets=[ast.Subscript(slice=ast.Constant(value=name))], value=ast.Call() as call
            ) if (name == flavor):
                yield call


def _unread(path: str, call: ast.Call, family: str) -> Iterator[Setting]:
    name = ast.unparse(call.func)
    known = "DeepSeekV3ModelArgs" if name == SCALED_ALWAYS else name
    if known not in READ:
        return
    read = READ[known] | _SIZES | {*COMMON.values()} | {*DEFAULTS.get(known, {})} | MEANINGLESS
    for keyword in call.keywords:
        if isinstance(keyword.value, ast.Call):
            yield from _unread(path, keyword.value, family)
        if keyword.arg is None or keyword.arg in read or _is_own(keyword, family):
            continue
        shown = ast.unparse(keyword.value)
        place = (path, keyword.lineno, keyword.col_offset + 1, len(keyword.arg))
        yield Setting("python", f"{name}.{keyword.arg}", (shown,), *place)


def _is_own(keyword: ast.keyword, family: str) -> bool:
    if not isinstance(keyword.value, ast.Constant):
        return False
    name, value = str(keyword.arg), keyword.value.value
    if name == BIASED[0]:
        return bool(value) == (family == "GptOssModelArgs")
    return name in OWN and OWN[name] == value
