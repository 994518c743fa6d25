"""Options of Megatron-LM that a job says with some of their values alone, for `parc import`."""

from collections.abc import Callable, Mapping

from ....compiler.checkpoints import KEPT, spread
from ....reading.facts import LaunchConfig, Setting, dashed, number_of, text_of
from ...run_folder import is_of_the_run
from ..context_ways import own_sizes
from ..option_rows import ROWS
from ..stack import WHOLE_STEP
from ..transformer_engine import FORMATS
from .described import train
from .ramp import batch_ramp
from .target_block import distributed_optimizer, options

_METHOD, _LAYERS = "--recompute-method", "--recompute-num-layers"
#: Options without which what is recomputed is not what a fact says.
REFINES = {"recompute": frozenset({"--recompute-modules", _METHOD, _LAYERS})}


def _other_dropout(config: LaunchConfig, setting: Setting) -> bool:
    """The language has one dropout; Megatron-LM's two are 0.1 unless given."""
    hidden = text_of(config.option("--hidden-dropout")) or "0.1"
    return _number(text_of(setting)) != _number(hidden)


def _flash_of_no_version(config: LaunchConfig) -> bool:
    """Whichever FlashAttention is installed, which no job says."""
    flash = text_of(config.option("--attention-backend")) == "flash"
    return flash and not config.given("--flash-attention-version")


def _other_span(config: LaunchConfig, setting: Setting) -> bool:
    """The rate falls until the run ends."""
    unit = dashed(setting.name).removeprefix("--lr-decay-")
    total = number_of(config.option(f"--train-{unit}"))
    constant = text_of(config.option("--lr-decay-style")) == "constant"
    return not constant and number_of(setting) != total


def _not_read(name: str) -> Callable[[LaunchConfig, Setting], bool]:
    return lambda config, setting: name not in options(config)


def _other_retention(config: LaunchConfig, setting: Setting) -> bool:
    """Neither the newest alone, nor those that stay unless a job says how many."""
    steps = train(config).get("steps")
    interval = number_of(config.option("--save-interval"))
    retained = number_of(setting) or 0
    if not steps or not interval or retained > steps:
        return False
    return retained != spread(int(steps), int(interval), KEPT)


def _other_modules(config: LaunchConfig, setting: Setting) -> bool:
    """Neither attention's scores alone nor all that `fine` or `moe` repeats."""
    kind = config.value("recompute")
    return kind not in ("fine", "moe") and not (
        kind == "selective" and set(setting.values) == {"core_attn"}
    )


def _other_format(config: LaunchConfig, setting: Setting) -> bool:
    """Another one than parc writes with the recipe."""
    recipe = text_of(config.option("--fp8-recipe")) or "delayed"
    return recipe in FORMATS and text_of(setting) != FORMATS[recipe]


def _recomputes_in_groups(config: LaunchConfig, setting: Setting) -> bool:
    """Inputs of every n-th layer alone are kept."""
    method = text_of(config.option(_METHOD))
    return method not in ("block", "uniform") or (
        method == "uniform" and number_of(config.option(_LAYERS)) != 1
    )


#: Options that are expressed beside some others alone, and whether theirs are not those; `words` of a row are
#: the values that a job can say.
OTHER: Mapping[str, Callable[[LaunchConfig, Setting], bool]] = {
    "--lr-decay-iters": _other_span,
    "--lr-decay-samples": _other_span,
    "--step-batch-size-schedule": lambda config, setting: batch_ramp(config) is None,
    "--rampup-batch-size": lambda config, setting: batch_ramp(config) is None,
    "--attention-dropout": _other_dropout,
    "--save-retain-interval": _other_retention,
    "--recompute-modules": _other_modules,
    _METHOD: _recomputes_in_groups,
    _LAYERS: _recomputes_in_groups,
    "--eval-global-batch-size": lambda config, setting: (
        number_of(setting) != config.number("global_batch")
    ),
    "--fp8-format": _other_format,
    "--fp4-recipe": lambda config, setting: text_of(setting) != "nvfp4",
    "--max-position-embeddings": lambda config, setting: False,
    "--qk-layernorm": lambda config, setting: False,
    "--distributed-timeout-minutes": lambda config, setting: number_of(setting) is None,
    "--tokenizer-type": lambda config, setting: (
        text_of(setting) not in ("NullTokenizer", "SFTTokenizer", "HuggingFaceTokenizer")
        and "tokenizer_type" not in options(config)
    ),
    "--data-path": _not_read("data"),
    "--train-data-path": _not_read("train_data"),
    "--valid-data-path": _not_read("valid_data"),
    "--test-data-path": _not_read("test_data"),
    "--profile": _not_read("profile_start"),
    "--attention-backend": lambda config, setting: (
        text_of(setting) == "local" or _flash_of_no_version(config)
    ),
    "--flash-attention-version": lambda config, setting: "attention_kernel" not in options(config),
    "--fp8-param-gather": lambda config, setting: not distributed_optimizer(config),
    "--optimizer-offload-fraction": lambda config, setting: _number(text_of(setting)) != 1,
    "--use-precision-aware-optimizer": lambda config, setting: (
        not config.given("--optimizer-cpu-offload") and "moment_dtype" not in options(config)
    ),
    "--cp-comm-type": _not_read("cp_comm"),
    "--hierarchical-context-parallel-sizes": lambda config, setting: not own_sizes(config),
    "--exp-avg-dtype": _not_read("moment_dtype"),
    "--exp-avg-sq-dtype": _not_read("moment_dtype"),
}


#: What parc writes whatever the job says, and what says nothing beside the other options, with the values of
#: which that holds; empty for any.
_NEUTRAL: Mapping[str, tuple[str, ...]] = {
    "--ckpt-format": ("torch_dist", "fsdp_dtensor"),
    "--group-query-attention": (),
    "--bf16": (),
    "--init-model-with-meta-device": (),
    "--local-rank": (),
    "--moe-router-score-function": ("softmax",),
    "--moe-router-load-balancing-type": ("none", "aux_loss", "seq_aux_loss", "global_aux_loss"),
    "--normalization": ("LayerNorm",),
    "--overlap-cpu-optimizer-d2h-h2d": (),
    "--overlap-grad-reduce": (),
    "--overlap-param-gather": (),
    "--position-embedding-type": ("learned_absolute",),
    "--reuse-grad-buf-for-mxfp8-param-ag": (),
    "--rope-type": ("rope", "yarn"),
    "--sequence-parallel": (),
    "--sft-tokenizer-prompt-format": ("default",),
    "--te-rng-tracker": (),
    "--use-distributed-optimizer": (),
    "--use-megatron-fsdp": (),
}


def says(config: LaunchConfig, setting: Setting) -> bool | None:
    """Whether a job says an option of the command, with this value; None where its values tell."""
    name, text = dashed(setting.name), text_of(setting)
    row = next((row for row in ROWS.rows if name in row.names), None)
    if setting.scope != "argument" or row is None or row.owner == "other":
        return None
    if row.lost or (row.words and text not in row.words):
        return False
    if name in OTHER:
        return not OTHER[name](config, setting)
    if row.owner in ("chosen", "watched") or _means_nothing(config, row.name):
        return True
    if row.name == "--save" and is_of_the_run(setting):
        return True
    if row.name in _NEUTRAL and (not _NEUTRAL[row.name] or text in _NEUTRAL[row.name]):
        return True
    return None


def _means_nothing(config: LaunchConfig, name: str) -> bool:
    """Whether the rest of the command leaves an option without a meaning."""
    if name == "--kv-channels":
        return config.given("--multi-latent-attention")
    if name == "--no-check-for-nan-in-loss-and-grad":
        return text_of(config.option("--cuda-graph-impl")) == WHOLE_STEP
    if name == "--adam-beta1":
        optimizer = text_of(config.option("--optimizer")) or "adam"
        momentum = text_of(config.option("--muon-momentum"))
        same = _number(text_of(config.option(name))) == _number(momentum)
        return optimizer == "sgd" or (optimizer == "muon" and same)
    return False


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
