"""Options of Megatron-LM that a job says with some of their values alone, for `parc import`."""

from collections.abc import Callable, Iterator, Mapping

from ....compiler.checkpoints import KEPT, spread
from ....reading.facts import LaunchConfig, Setting, dashed, number_of, text_of
from ..option_rows import ROWS
from .ramp import batch_ramp
from .target_block import distributed_optimizer, options


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
    steps, interval = (
        number_of(config.option(name)) for name in ("--train-iters", "--save-interval")
    )
    retained = number_of(setting) or 0
    if not steps or not interval or retained > steps:
        return False
    return retained != spread(int(steps), int(interval), KEPT)


#: Options that are expressed beside some others alone, and whether theirs are not those; `words` of a row are
#: the values that a job can say.
OTHER: Mapping[str, Callable[[LaunchConfig, Setting], bool]] = {
    "--lr-decay-iters": _other_span,
    "--lr-decay-samples": _other_span,
    "--step-batch-size-schedule": lambda config, setting: batch_ramp(config) is None,
    "--rampup-batch-size": lambda config, setting: batch_ramp(config) is None,
    "--attention-dropout": _other_dropout,
    "--save-retain-interval": _other_retention,
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
    "--exp-avg-dtype": _not_read("moment_dtype"),
    "--exp-avg-sq-dtype": _not_read("moment_dtype"),
}


def unexpressed(config: LaunchConfig) -> Iterator[Setting]:
    """Options of a launched command that no job says, in their order; the last of a name counts."""
    last = {dashed(setting.name): setting for setting in config.all("argument")}
    for name, setting in last.items():
        if not name.startswith("--"):
            continue
        if name not in ROWS.expressed or _other(config, name, setting):
            yield setting


def _other(config: LaunchConfig, name: str, setting: Setting) -> bool:
    """Whether a value is none of those that a job can say."""
    row = ROWS.by_name.get(name)
    if row is not None and row.words and text_of(setting) not in row.words:
        return True
    return name in OTHER and OTHER[name](config, setting)


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
