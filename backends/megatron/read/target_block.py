"""Megatron-LM's options -> the settings of the `target megatron` block that would write them."""

from typing import Any

from ....dsl.settings import Data
from ....reading.facts import LaunchConfig, Setting, Unknown, number_of, text_of
from ...observation import BOARD
from ...release_check import written_release
from ...run_folder import below
from ..context_ways import WORDS
from ..data import SPLITS
from ..option_rows import ROWS
from ..options import Options
from ..stack import WHOLE_STEP
from ..transformer_engine import ATTENTION
from .spelling import FP8

Values = dict[str, Any]

_DATA = {"data": "--data-path", **SPLITS}


def options(config: LaunchConfig) -> Values:
    """Settings of the target block that differ from its defaults, without values that it does not take."""
    found: Values = {
        name: below(value, config) if isinstance(value, str) else value
        for name, value in ROWS.values(config, "target").items()
    }
    if found.get("tensorboard") == BOARD:
        del found["tensorboard"]
    found |= {name: _data(config.option(option)) for name, option in _DATA.items()}
    if config.given("--mock-data"):
        found["data"] = Data()
    found["version"] = written_release(config, "megatron")
    found |= _conversations(config) | _profile(config) | _stack(config)
    if not config.given("--save"):
        found["save"] = False
    return {name: value for name, value in found.items() if _says(name, value)}


def layout(config: LaunchConfig) -> Values:
    """Layers of a chunk that are recomputed in full; 0 stands for all."""
    if config.value("recompute") != "full":
        return {}
    method = text_of(config.option("--recompute-method"))
    layers = number_of(config.option("--recompute-num-layers"))
    if method == "uniform" and layers == 1:
        return {"recompute_layers": 0}
    return {"recompute_layers": layers} if method == "block" and layers else {}


def _says(name: str, value: Any) -> bool:
    if value is None or value == Options.model_fields[name].default:
        return False
    try:
        Options.model_validate({name: value})
    except ValueError:
        return False
    return True


def _data(option: Setting | None) -> Data | None:
    """Weights and sources in turn, or sources alone (core/datasets/utils.py get_blend_from_list)."""
    if option is None or not option.values:
        return None
    words = [str(value) for value in option.values if not isinstance(value, Unknown)]
    if len(words) < len(option.values):
        return None
    weights = [_weight(word) for word in words[::2]]
    if len(words) % 2 or None in weights:
        return Data(parts=((words[0], 1.0),)) if len(words) == 1 else None
    pairs = zip(words[1::2], weights, strict=True)
    return Data(parts=tuple((source, weight or 0.0) for source, weight in pairs))


def _weight(word: str) -> float | None:
    try:
        found = float(word)
    except ValueError:
        return None
    return found if 0 < found < float("inf") else None


def _conversations(config: LaunchConfig) -> Values:
    if not config.given("--sft"):
        return {}
    chosen = text_of(config.option("--sft-tokenizer-prompt-format")) or "nemotron-h-aligned"
    return {"sft": True, "prompt_format": chosen}


def _stack(config: LaunchConfig) -> Values:
    """Kernels and traffic; a script that names no overlap has none."""
    found: Values = {
        "tp_overlap": _tensor_overlap(config),
        "sequence_parallel": _sequence_parallel(config),
        "attention_kernel": _attention(config),
        "fp8_recipe": _recipe(config),
    }
    found["cp_comm"] = _context(config)
    found["cuda_graph"] = text_of(config.option("--cuda-graph-impl")) == WHOLE_STEP
    if config.given(*ROWS.by_name[FP8].names) and distributed_optimizer(config):
        found["fp8_params"] = config.given("--fp8-param-gather")
    if config.given("--grad-reduce-in-bf16"):
        found["grad_dtype"] = "bf16"
    if _both_moments(config) == "bf16":
        found["moment_dtype"] = "bf16"
    found |= {"loss_kernel": _loss(config), "dispatcher": _dispatcher(config)}
    found["ep_overlap"] = config.given("--overlap-moe-expert-parallel-comm")
    ranks = config.number("dp")
    if (
        ranks is not None
        and ranks * (config.number("cp") or 1) > 1
        and not config.given("--use-megatron-fsdp")
    ):
        found["dp_overlap"] = config.given("--overlap-grad-reduce")
    return found


def distributed_optimizer(config: LaunchConfig) -> bool:
    """Whether ZeRO 1 is Megatron-LM's own."""
    return config.given("--use-distributed-optimizer") and not config.given("--use-megatron-fsdp")


def _both_moments(config: LaunchConfig) -> str | None:
    """Their dtype where it is one."""
    first, second = (
        text_of(config.option(name)) for name in ("--exp-avg-dtype", "--exp-avg-sq-dtype")
    )
    return first if first == second else None


def _context(config: LaunchConfig) -> str | None:
    """One way for all layers; a ring where none is named, and the job's choice without cp."""
    option = config.option("--cp-comm-type")
    if (config.number("cp") or 1) == 1 or (option is not None and len(option.values) != 1):
        return None
    return "p2p" if option is None else WORDS.get(text_of(option) or "")


def _dispatcher(config: LaunchConfig) -> str | None:
    """DeepEP unless the flex dispatcher is told another; NCCL EP is no word of the language."""
    if text_of(config.option("--moe-token-dispatcher-type")) != "flex":
        return None
    backend = text_of(config.option("--moe-flex-dispatcher-backend")) or "deepep"
    return backend if backend in ("deepep", "hybridep") else None


def _tensor_overlap(config: LaunchConfig) -> bool | None:
    """None where the launch has no such traffic."""
    if config.number("tp") in (None, 1):
        return None
    return config.given("--tp-comm-overlap")


def _sequence_parallel(config: LaunchConfig) -> bool | None:
    """None where the launch has it, or could not have it."""
    tp, length = config.number("tp") or 1, config.number("seq_len") or 0
    whole = tp > 1 and length % tp == 0 and not config.given("--sequence-parallel")
    return False if whole else None


def _loss(config: LaunchConfig) -> str | None:
    """None where it is what parc chooses, or Transformer Engine's, which the language has no word for."""
    fused, fp16 = config.given("--cross-entropy-loss-fusion"), config.given("--fp16")
    own = text_of(config.option("--cross-entropy-fusion-impl")) in (None, "native")
    if fused is not fp16 or (fused and not own):
        return None
    return "fused" if fused else "eager"


def _attention(config: LaunchConfig) -> str | None:
    """Without a version it is whichever FlashAttention is installed."""
    backend = text_of(config.option("--attention-backend"))
    said = (backend, number_of(config.option("--flash-attention-version")))
    return next((kernel for kernel, words in ATTENTION.items() if words == said), None)


def _recipe(config: LaunchConfig) -> str | None:
    """Megatron-LM's own default where the launch names none; mxfp8 is a precision of the language."""
    if not config.given(*ROWS.by_name[FP8].names):
        return None
    return text_of(config.option("--fp8-recipe")) or "delayed"


def _profile(config: LaunchConfig) -> Values:
    """The last step is not recorded; 10 and 12 unless given (config/common_config.py ProfilingConfig)."""
    if not config.given("--profile") or not config.given("--use-pytorch-profiler"):
        return {}
    first = number_of(config.option("--profile-step-start"))
    end = number_of(config.option("--profile-step-end"))
    return {
        "profile_start": 10 if first is None else first,
        "profile_stop": (12 if end is None else end) - 1,
    }
