"""Megatron-LM's options and their defaults -> values of the `train` block."""

from typing import Any

from ....dsl.batch_ramp import Stage, steps_until
from ....reading.facts import LaunchConfig, number_of, text_of
from ...described import known, options, rate_of, rates
from ...observation import BOARD
from ...run_folder import below
from ..emit.schedule import DECAYS, STYLES
from ..option_rows import ROWS
from ..resume import RESHARDABLE
from .ramp import Ramp, batch_ramp

Values = dict[str, Any]


#: Optimizer -> option of its first moment.
_MOMENTA = {"adam": "--adam-beta1", "sgd": "--sgd-momentum", "muon": "--muon-momentum"}
#: What is not said and is not the language's default (arguments.py, optimizer_config.py and
#: transformer_config.py of 0.19.2; older ones have the same).
DEFAULTS = {"min_learning_rate": 0.0, "weight_decay": 0.01, "beta2": 0.999, "dropout": 0.1}
#: What the rate does where nothing says it.
SCHEDULE = "linear"


def train(config: LaunchConfig) -> Values:
    """Options of Megatron-LM's training; other programs that take the same names mean the same."""
    found = {**_unsaid(config), **ROWS.values(config, "train")}
    found |= _optimizer(config)
    if stores_scores(config):
        found["attention"] = "unfused"
    ramp = batch_ramp(config)
    found |= _schedule(config) | _warmup(config) | _length(config, ramp)
    found |= _checkpoints(config, found.get("steps"))
    if ramp is not None:
        found |= {"ramp_from": ramp.first, "ramp_tokens": ramp.tokens}
    return found | _timeout(config) | _tracker(config)


def _tracker(config: LaunchConfig) -> Values:
    """TensorBoard in a folder of the run; Weights & Biases and a profile take one, too."""
    others = config.given("--wandb-project") or config.given("--profile")
    board = below(text_of(config.option("--tensorboard-dir")), config)
    return {"tracker": "tensorboard"} if board == BOARD and not others else {}


def _timeout(config: LaunchConfig) -> Values:
    """The limit of collectives where one holds throughout; parc chooses where another begins to."""
    minutes = number_of(config.option("--distributed-timeout-minutes"))
    several = config.given("--distributed-timeout-seconds-after-init")
    return {"collective_timeout": 60.0 * minutes} if minutes and not several else {}


def stores_scores(config: LaunchConfig) -> bool:
    """Whether attention is unfused, by name or in Megatron-LM's own modules (core/models/backends.py). `auto`
    may choose any kernel."""
    own = text_of(config.option("--transformer-impl")) == "local"
    return own or text_of(config.option("--attention-backend")) in ("unfused", "local")


def _unsaid(config: LaunchConfig) -> Values:
    """Megatron-LM's defaults, where it is what trains."""
    if config.framework != "megatron" or not config.given("--hidden-size"):
        return {}
    names = {name: ROWS.setting("train", name).name for name in DEFAULTS}
    unsaid = {name: DEFAULTS[name] for name, option in names.items() if not config.given(option)}
    return unsaid | ({} if config.given("--lr-decay-style") else {"schedule": SCHEDULE})


def _optimizer(config: LaunchConfig) -> Values:
    chosen = text_of(config.option("--optimizer"))
    if chosen not in _MOMENTA:
        return {}
    return {"optimizer": chosen} | rates(config, options(beta1=_MOMENTA[chosen]))


def _schedule(config: LaunchConfig) -> Values:
    style = text_of(config.option("--lr-decay-style")) or ""
    chosen = next((name for name, word in STYLES.items() if word == style), None)
    if chosen != "wsd":
        return {} if chosen is None else {"schedule": chosen}
    falls = text_of(config.option("--lr-wsd-decay-style")) or "exponential"
    return {"schedule": chosen} | known(
        decay_style=next((name for name, word in DECAYS.items() if word == falls), None),
        decay_steps=number_of(config.option("--lr-wsd-decay-iters")),
    )


def _warmup(config: LaunchConfig) -> Values:
    """None unless given, in steps or as a share of the schedule."""
    share = rate_of(config.option("--lr-warmup-fraction"))
    span = number_of(config.option("--lr-decay-iters", "--train-iters"))
    if share is not None:
        return {} if span is None else {"warmup": round(share * span)}
    names = ("--lr-warmup-iters", "--lr-warmup-samples", "--lr-warmup-fraction")
    ours = config.framework == "megatron" and config.given("--hidden-size")
    return {"warmup": 0} if ours and not config.given(*names) else {}


def _length(config: LaunchConfig, ramp: Ramp | None) -> Values:
    """Steps of what is counted in sequences: of a run, its warmup and the fall of its rate."""
    batch = config.number("global_batch")
    names = ("--train-samples", "--lr-warmup-samples", "--lr-wsd-decay-samples")
    total, warmup, decay = (number_of(config.option(name)) for name in names)
    if not total or not batch:
        return {}
    stages = ramp.stages if ramp else (Stage(0, batch),)
    steps = steps_until(stages, total)
    found: Values = {"steps": steps}
    if warmup is not None:
        found["warmup"] = steps_until(stages, warmup)
    if decay:
        found["decay_steps"] = steps - steps_until(stages, total - decay)
    return found


def _checkpoints(config: LaunchConfig, steps: int | None) -> Values:
    found: Values = {"async_checkpoints": True} if config.given("--async-save") else {}
    found |= {"elastic": True} if config.given(RESHARDABLE) else {}
    retained = number_of(config.option("--save-retain-interval"))
    if retained is None:
        found |= {"keep_checkpoints": 0} if config.given("--save") else {}
    elif steps is not None and retained > steps:
        found["keep_checkpoints"] = 1
    return found
