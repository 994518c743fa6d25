"""Settings of PyTorch's FSDP, as accelerate, the Trainer and axolotl have them -> what a job shards.

`sharding` counts as a ZeRO stage: FSDP that gathers weights again in the backward pass is 3, FSDP that keeps
them 2. Sources: accelerate 1.15 utils/dataclasses.py:1823; transformers 5.23 training_args.py:2775 and 4.57;
axolotl 0.19 utils/trainer.py:597.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from ...reading.facts import Fact, Unknown, Value
from ...reading.yaml_settings import Scalar
from ..option_row import OptionRow
from .option_rows import ACCELERATE, TRAINER, of_axolotl

#: The block of FSDP's keys, in accelerate's configuration and among the Trainer's arguments.
BLOCK = "fsdp_config"
#: Argument of the Trainer with words, or true since transformers 5.
_SWITCH = TRAINER.by_name["fsdp"]
_AXOLOTL_VERSION = TRAINER.by_name["fsdp_version"].name
_VERSION, _STRATEGY, _RESHARD, _OFFLOAD, _AGAIN = (
    ACCELERATE.by_name[f"{BLOCK}.fsdp_{name}"]
    for name in (
        "version",
        "sharding_strategy",
        "reshard_after_forward",
        "offload_params",
        "activation_checkpointing",
    )
)
#: The framework whose states FSDP has: a stage of ZeRO.
STATES_OF = "deepspeed"
_HYBRID = ("hybrid_shard", "hybrid_shard_zero2", "4", "5")


@dataclass(frozen=True)
class Fsdp:
    """FSDP's settings: `at` switches it on, `keys` are those of its block, `words` the Trainer's;
    `unread` is why a file with more keys is not read."""

    at: Scalar
    keys: Mapping[str, Scalar]
    words: tuple[Scalar, ...] = ()
    unread: Unknown | None = None

    def facts(self, shape: Mapping[str, Fact]) -> Iterator[Fact]:
        """With the nodes and GPUs of a node among `shape`, how far a hybrid strategy shards."""
        stage, place = self._stage()
        yield _fact("sharding", stage, place)
        if isinstance(stage, int) and str(place.value).lower() in _HYBRID:
            yield from _within_nodes(shape, place)
        offload = self._of(_OFFLOAD)
        told = next((word for word in self.words if word.text == "offload"), None)
        if told is not None:
            yield _fact("offload", _OFFLOAD.decoded("true"), told)
        else:
            yield _fact("offload", *(offload or (_OFFLOAD.decoded("false"), self.at)))
        again = self._of(_AGAIN)
        # Where FSDP does not, the program itself may.
        if again is not None and again[0] != _AGAIN.decoded("false"):
            yield _fact("recompute", *again)

    def _stage(self) -> tuple[Value | Unknown | None, Scalar]:
        version, reshard, worded = self._version(), self._of(_RESHARD), self._strategy()
        if version == 2:
            return reshard or worded or (_RESHARD.decoded("true"), self.at)
        strategy = worded or self._of(_STRATEGY)
        if worded and self.unread is not None:
            return worded
        if version == 1:
            return strategy or (reshard if self.words else None) or self._default()
        if strategy and reshard and strategy[0] != reshard[0]:
            reason = f"`{reshard[1].name}` counts with FSDP 2 alone, and no version is given"
            return Unknown(reason), reshard[1]
        return strategy or reshard or self._default()

    def _default(self) -> tuple[Value | None, Scalar]:
        return _STRATEGY.decoded("full_shard"), self.at

    def _version(self) -> int | None:
        """1 or 2; None where nothing says it, and the release of transformers decides."""
        scalar = _first(self.keys, _VERSION)
        return int(scalar.text) if scalar is not None and scalar.text in ("1", "2") else None

    def _strategy(self) -> tuple[Value | Unknown, Scalar] | None:
        """The strategy among the Trainer's words."""
        for word in self.words:
            if word.unknown is not None:
                return word.unknown, word
            stage = _SWITCH.decoded(word.text)
            if stage is not None:
                return stage, word
        return None

    def _of(self, row: OptionRow) -> tuple[Value | Unknown, Scalar] | None:
        scalar = _first(self.keys, row)
        if scalar is None and self.unread is not None:
            return self.unread, self.at
        if scalar is None or scalar.value is None:
            return None
        if isinstance(scalar.value, Unknown):
            return scalar.value, scalar
        value = row.decoded(scalar.value)
        return (
            Unknown(f"`{scalar.text}` is no value of {row.name}") if value is None else value
        ), scalar


def with_fsdp(facts: Iterable[Fact], sharded: Fsdp | None, shape: Mapping[str, Fact]) -> list[Fact]:
    """The facts of a job and those of FSDP, which says nothing that is said already, but that it computes
    activations again where the program itself does not."""
    own = {fact.name: fact for fact in facts}
    for fact in sharded.facts(shape) if sharded is not None else ():
        if fact.name not in own or own[fact.name].value == _AGAIN.decoded("false"):
            own[fact.name] = fact
    return list(own.values())


def of_configuration(keys: Mapping[str, Scalar], at: Scalar) -> Fsdp:
    """From accelerate's configuration and options; without a version it is FSDP 1, whatever the release."""
    first = {_VERSION.name: replace(at, name=_VERSION.name, text="1", unknown=None)}
    return Fsdp(at, keys if _first(keys, _VERSION) else {**keys, **first})


def of_arguments(scalars: Mapping[str, Scalar]) -> Fsdp | None:
    """From the Trainer's arguments, or axolotl's; None where FSDP is not switched on.

    axolotl switches it on by its block alone, and has FSDP 1 where no version is given.
    """
    listed = [each for name, each in scalars.items() if name.startswith(f"{_SWITCH.name}.")]
    switch = scalars.get(_SWITCH.name)
    keys = {name: each for name, each in scalars.items() if name.startswith(f"{BLOCK}.")}
    if of_axolotl(scalars) and keys and _first(keys, _VERSION) is None:
        first = next(iter(keys.values()))
        stated = scalars.get(_AXOLOTL_VERSION)
        keys[_VERSION.name] = stated or replace(first, name=_VERSION.name, text="1", unknown=None)
    at = next(iter(listed), None if switch is None or _off(switch) else switch)
    if at is None and of_axolotl(scalars):
        at = next(iter(keys.values()), None)
    if at is None:
        return None
    named = scalars.get(BLOCK)
    unread = None
    if named is not None and named.value is not None and not keys:
        unread = named.unknown or Unknown(f"`{named.text}` is not read")
    words = listed or ([] if switch is None or _off(switch) else _split(switch))
    return Fsdp(at, keys, tuple(words), unread)


def _off(switch: Scalar) -> bool:
    return switch.unknown is None and switch.value in (None, False, "")


def _split(switch: Scalar) -> list[Scalar]:
    """The words of `full_shard auto_wrap`, each at the place of the text."""
    if switch.unknown is not None:
        return [switch]
    return [
        Scalar(switch.name, word, True, switch.path, switch.line, switch.column)
        for word in switch.text.split()
    ]


def _within_nodes(shape: Mapping[str, Fact], place: Scalar) -> Iterator[Fact]:
    """FSDP's own groups of a hybrid strategy: sharded in a node, replicated over nodes."""
    for name, of in (("dp_shard", "gpus_per_node"), ("dp_replicate", "nodes")):
        if of in shape and isinstance(shape[of].value, int):
            yield _fact(name, shape[of].value, place)


def _first(keys: Mapping[str, Scalar], row: OptionRow) -> Scalar | None:
    return next((keys[name] for name in row.names if name in keys), None)


def _fact(name: str, value: Value | Unknown | None, scalar: Scalar) -> Fact:
    told = Unknown("null") if value is None else value
    return Fact(name, told, scalar.path, scalar.line, scalar.column)
