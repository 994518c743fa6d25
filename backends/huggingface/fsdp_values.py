"""The JSON of the Trainer's `fsdp_config` -> its values that Transformers stops for.

Source: transformers 5.23 training_args.py, _process_fsdp_args, and the plugin of accelerate 1.15 that it
fills (utils/dataclasses.py, FullyShardedDataParallelPlugin), each tried with values of every kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from .accelerate_values import TRUTH, WORDS

#: The first release that these are of.
SINCE = "5.23"
_POLICIES = tuple(word.upper() for word in WORDS["fsdp_config.fsdp_auto_wrap_policy"])
_STRATEGIES = WORDS["fsdp_config.fsdp_sharding_strategy"]
_STATES = WORDS["fsdp_config.fsdp_state_dict_type"]
_PREFETCH = WORDS["fsdp_config.fsdp_backward_prefetch"]
#: Switches of both versions, and those that one of them alone reads.
_SWITCHES = ("activation_checkpointing", "cpu_ram_efficient_loading")
_OF_VERSION = {
    1: ("forward_prefetch", "use_orig_params", "sync_module_states", "limit_all_gathers"),
    2: ("reshard_after_forward",),
}


def named(key: str) -> str:
    """A key without the prefix that it may have."""
    return key.removeprefix("fsdp_")


def wrong_values(config: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Each key that stops the start, as it is written, with what it should be; with XLA none is read."""
    written = {named(key): key for key in config}
    given = {name: config[key] for name, key in written.items()}
    if given.get("xla"):
        return
    version = _version(given)
    if version is None:
        yield written["version"], "expected 1 or 2"
        return
    checked = (_switches, _policy, _wrapped, _words)
    for name, expected in (found for check in checked for found in check(given, version)):
        yield written[name], f"expected {expected}"


def _version(given: Mapping[str, object]) -> int | None:
    value = given.get("version", 2)
    if isinstance(value, str) and not re.fullmatch(r"\s*[+-]?\d+\s*", value):
        return None
    return int(value) if isinstance(value, str | int | float) else None


def _switches(given: Mapping[str, object], version: int) -> Iterator[tuple[str, str]]:
    for name in (*_SWITCHES, *_OF_VERSION.get(version, ())):
        if name in given and str(given[name]).lower() not in TRUTH:
            yield name, "true or false"


def _policy(given: Mapping[str, object], version: int) -> Iterator[tuple[str, str]]:
    if given.get("auto_wrap_policy", _POLICIES[0]) not in _POLICIES:
        yield "auto_wrap_policy", f"one of {', '.join(_POLICIES)}"


def _wrapped(given: Mapping[str, object], version: int) -> Iterator[tuple[str, str]]:
    """The classes, or the number of parameters, that the policy wraps by."""
    policy = given.get("auto_wrap_policy", _POLICIES[0])
    least, classes = given.get("min_num_params", 0), given.get("transformer_layer_cls_to_wrap", "")
    if policy == _POLICIES[1] and not isinstance(least, int):
        yield "min_num_params", "a whole number"
    listed = classes if isinstance(classes, list | dict) else [] if classes is None else [classes]
    if policy == _POLICIES[0] and not all(isinstance(each, str) for each in listed):
        yield "transformer_layer_cls_to_wrap", "names of classes"


def _words(given: Mapping[str, object], version: int) -> Iterator[tuple[str, str]]:
    states = given.get("state_dict_type", "1")
    if isinstance(states, str) and states.lower() not in _STATES:
        yield "state_dict_type", "FULL_STATE_DICT or SHARDED_STATE_DICT"
    elif version == 2 and states in ("2", "LOCAL_STATE_DICT"):
        yield "state_dict_type", "FULL_STATE_DICT or SHARDED_STATE_DICT with version 2"
    if version != 1:
        return
    if str(given.get("reshard_after_forward", "full_shard")).lower() not in _STRATEGIES:
        yield "reshard_after_forward", "a strategy, such as full_shard, with version 1"
    prefetch = given.get("backward_prefetch", "no_prefetch")
    if not isinstance(prefetch, str) or prefetch.lower() not in _PREFETCH:
        yield "backward_prefetch", "BACKWARD_PRE, BACKWARD_POST or NO_PREFETCH"
