"""A launched command of verl -> the facts of the actor's training.

The rollout has a parallelism of its own, in which nothing trains; the critic's is not stated.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

from ...reading.bash.script import Folder
from ...reading.bash.values import Word
from ...reading.facts import Fact, Kind, LaunchConfig, Unknown
from ...reading.launchers import Started
from .overrides import TELLING, Answer, Overrides, overrides, settings

Number = int | Unknown
Found = tuple[str, Answer, Word]
ACTOR = "actor_rollout_ref.actor."
#: Fact -> key below `megatron` of the actor.
DEGREES = {
    "tp": "tensor_model_parallel_size",
    "pp": "pipeline_model_parallel_size",
    "cp": "context_parallel_size",
    "ep": "expert_model_parallel_size",
}
#: The same, of what is null unless it is given.
UNSET = {
    "vpp": "virtual_pipeline_model_parallel_size",
    "etp": "expert_tensor_parallel_size",
}
ULYSSES = (
    f"{ACTOR}ulysses_sequence_parallel_size",
    f"{ACTOR}fsdp_config.ulysses_sequence_parallel_size",
)
MINI, MICRO = f"{ACTOR}ppo_mini_batch_size", f"{ACTOR}ppo_micro_batch_size_per_gpu"
DYNAMIC, SAMPLES = f"{ACTOR}use_dynamic_bsz", "actor_rollout_ref.rollout.n"
NODES, GPUS = "trainer.nnodes", "trainer.n_gpus_per_node"
#: verl 0.7, verl/trainer/config/: the values that its own two configurations have, as 0.4 to 0.6 do.
DEFAULTS: Mapping[str, Answer] = {
    NODES: 1, GPUS: 8, MINI: 256, DYNAMIC: False, SAMPLES: 1,
    **{f"{ACTOR}megatron.{key}": 1 for key in DEGREES.values()},
    **dict.fromkeys(ULYSSES, 1),
}  # fmt: skip
#: Its configurations, with the strategy of each.
CONFIGS = {"ppo_trainer": "fsdp", "ppo_megatron_trainer": "megatron"}
_PROGRAM = "verl.trainer.main_ppo"
_FSDP = ("fsdp", "fsdp2")
_WHERE = ("--config-path", "--config-dir", "-cp", "-cd")


def job(launch: Started, texts: Mapping[str, str], folder: Folder) -> LaunchConfig | None:
    """The actor's job of a command with its overrides, None for another program."""
    found = {each.key: each for each in overrides(launch)}
    if not any(re.match(TELLING, key) for key in found):
        return None
    config = _config(launch)
    known = config is not None and launch.program == _PROGRAM
    given = Overrides(found, DEFAULTS if known else None, launch.options())
    strategy = _strategy(given, config if known else None)
    facts = tuple(
        Fact(name, value, place.path, place.line, place.column)
        for name, value, place in _facts(given, strategy)
        if value is not None
    )
    kind = Kind("verl", "megatron" if strategy == "megatron" else "", "bash")
    return LaunchConfig(kind, facts, (), tuple(settings(found)))


def _config(launch: Started) -> str | None:
    """The name of verl's own configuration that a command takes; None for another one."""
    given = launch.options()
    paths = [given.text(name) for name in _WHERE if given.given(name)]
    names = [given.text(name) for name in ("--config-name", "-cn") if given.given(name)]
    name = names[0] if names else "ppo_trainer"
    own = isinstance(name, str) and name.removesuffix(".yaml") in CONFIGS
    if not own or any(path not in ("config", "./config") for path in paths):
        return None
    return str(name).removesuffix(".yaml")


def _strategy(given: Overrides, config: str | None) -> str | Unknown:
    """The strategy that trains the actor: by its own key, the kind of engine, or a key below it."""
    for key in (f"{ACTOR}strategy", "model_engine"):
        if key in given.given:
            value = given.value(key)
            return (
                value if isinstance(value, Unknown) else {"dp": "fsdp"}.get(str(value), str(value))
            )
    if config is not None:
        return CONFIGS[config]
    if any(key.startswith(f"{ACTOR}megatron.") for key in given.given):
        return "megatron"
    if any(key.startswith(f"{ACTOR}fsdp_config.") for key in given.given):
        return "fsdp"
    return Unknown("the configuration that the command names is not here to be read")


def _facts(given: Overrides, strategy: str | Unknown) -> Iterator[Found]:
    shape = list(_shape(given))
    degrees = list(_degrees(given, strategy))
    yield from shape
    yield from degrees
    values = {name: value for name, value, _ in (*shape, *degrees)}
    place = given.options.command
    if "tp" in values:
        yield "dp", _replicas(values), place
    yield from _batch(given)
    yield from _recompute(given, strategy)


def _shape(given: Overrides) -> Iterator[Found]:
    nodes, each = given.number(NODES), given.number(GPUS)
    yield "nodes", nodes, given.place(NODES)
    yield "gpus_per_node", each, given.place(GPUS)
    product: Answer = nodes * each if isinstance(nodes, int) and isinstance(each, int) else None
    unknown = next((value for value in (nodes, each) if isinstance(value, Unknown)), None)
    yield "gpus", unknown or product, given.place(NODES, GPUS)


def _degrees(given: Overrides, strategy: str | Unknown) -> Iterator[Found]:
    if strategy == "megatron":
        for name, key in DEGREES.items():
            yield name, given.number(f"{ACTOR}megatron.{key}"), given.place(
                f"{ACTOR}megatron.{key}"
            )
        yield "ulysses", 1, given.options.command
        for name, key in UNSET.items():
            if f"{ACTOR}megatron.{key}" in given.given:
                key = f"{ACTOR}megatron.{key}"
                yield name, given.number(key), given.place(key)
    elif strategy in _FSDP:
        for name in ("tp", "pp", "cp"):
            yield name, 1, given.options.command
        key = next((key for key in ULYSSES if key in given.given), ULYSSES[0])
        yield "ulysses", given.number(key), given.place(key)
    elif isinstance(strategy, Unknown):
        for name in ("tp", "pp", "cp"):
            yield name, strategy, given.options.command


def _replicas(values: Mapping[str, Answer]) -> Answer:
    """Ranks that read different samples; `invalid` where the degrees do not divide the GPUs."""
    numbers = [values.get(name) for name in ("gpus", "tp", "pp", "cp", "ulysses")]
    known = [value for value in numbers if isinstance(value, int)]
    if len(known) < len(numbers):
        return next((value for value in numbers if isinstance(value, Unknown)), None)
    group = math.prod(known[1:])
    return "invalid" if group < 1 or known[0] % group else known[0] // group


def _batch(given: Overrides) -> Iterator[Found]:
    """Samples of an update of the actor, and those that a GPU takes at once."""
    mini, samples = given.number(MINI), given.number(SAMPLES)
    open_ = next((value for value in (mini, samples) if isinstance(value, Unknown)), None)
    product: Answer = mini * samples if isinstance(mini, int) and isinstance(samples, int) else None
    yield "global_batch", open_ or product, given.place(MINI)
    dynamic, place = given.value(DYNAMIC), given.place(MICRO)
    if dynamic is True:
        unknown = Unknown("micro-batches are packed by tokens: use_dynamic_bsz")
        yield "micro_batch", unknown, given.place(DYNAMIC)
    elif MICRO in given.given or given.defaults is None:
        yield "micro_batch", dynamic if isinstance(dynamic, Unknown) else given.number(MICRO), place


def _recompute(given: Overrides, strategy: str | Unknown) -> Iterator[Found]:
    """The recomputation that is set: FSDP's switch is that of transformers, and discards all of a layer."""
    switch = "actor_rollout_ref.model.enable_gradient_checkpointing"
    granularity = f"{ACTOR}megatron.override_transformer_config.recompute_granularity"
    key = granularity if strategy == "megatron" else switch
    if key not in given.given or isinstance(strategy, Unknown):
        return
    value = given.value(key)
    if isinstance(value, bool):
        value = "full" if value else "none"
    yield "recompute", value, given.place(key)
