"""`accelerate launch` with its YAML configuration -> the facts of a job that DeepSpeed or FSDP runs.

Options of the command go before the configuration's (accelerate/commands/launch.py); without a file that is
named, accelerate reads one in the user's home, which is not here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ...compiler.plan import OFFLOAD
from ...reading.bash.script import Folder
from ...reading.bash.values import Word
from ...reading.command_options import CommandOption
from ...reading.facts import UNREAD, Fact, Kind, LaunchConfig, Setting, Unknown, Unread, Value
from ...reading.launchers import Started
from ...reading.named_files import missing, named_file
from ...reading.yaml_settings import Scalar, yaml_scalars
from .fsdp import BLOCK, Fsdp, of_configuration, with_fsdp
from .option_rows import ACCELERATE, CONFIG_FILE, KIND, option

CONFIG = "--config-file"
#: trl's word for it, a path or the name of one of its own configurations, of which three are DeepSpeed's
#: (trl 0.15 to 0.24, trl/accelerate_configs/zero1.yaml to zero3.yaml).
NAMED = "--accelerate-config"
_PREDEFINED = ("zero1", "zero2", "zero3")
_OFFLOADED = tuple(
    ACCELERATE.by_name[f"deepspeed_config.offload_{what}_device"] for what in ("optimizer", "param")
)
_PRECISION = ACCELERATE.fact("precision")
_DEGREES = tuple(
    row for row in ACCELERATE.rows if row.fact and row.name.startswith("parallelism_config.")
)
#: Options of the command that choose who distributes, whatever the configuration says
#: (commands/launch.py:1225).
_FSDP = "--use-fsdp"
_OTHERS = ("--use-deepspeed", "--multi-gpu", "--use-megatron-lm", "--tpu", "--cpu")


@dataclass(frozen=True)
class Accelerate:
    """Accelerate's configuration: `config` is the path of DeepSpeed's own, `told` are its settings."""

    scalars: Mapping[str, Scalar] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    unread: tuple[Unread, ...] = ()

    @property
    def uses_deepspeed(self) -> bool:
        return self._distributes("DEEPSPEED")

    def fsdp(self, launch: Started | None) -> Fsdp | None:
        """FSDP by the configuration, whose keys the command's options go before; None without it."""
        given = launch.given if launch is not None and launch.launcher == "accelerate" else None
        asked = given is not None and given.given(_FSDP)
        other = given is not None and any(given.given(name) for name in _OTHERS)
        if not asked and (other or not self._distributes("FSDP")):
            return None
        keys = {name: each for name, each in self.scalars.items() if name.startswith(f"{BLOCK}.")}
        switch = self.scalars.get(KIND)
        if given is not None:
            keys |= {
                scalar.name: scalar
                for name, option in given.values.items()
                if name.startswith("--fsdp-")
                for scalar in (option_scalar(f"{BLOCK}.{key_of(name)}", option),)
            }
            switch = option_scalar(KIND, given.values[_FSDP]) if asked else switch
        return None if switch is None else of_configuration(keys, switch)

    @property
    def degrees(self) -> Iterator[Fact]:
        """Degrees of its block `parallelism_config`."""
        for row in _DEGREES:
            yield from _number(row.fact, self)

    def _distributes(self, kind: str) -> bool:
        scalar = self.scalars.get(KIND)
        return scalar is not None and scalar.text.upper() == kind

    @property
    def config(self) -> Word | None:
        named = self.scalars.get(CONFIG_FILE)
        return named.word if named is not None and isinstance(named.value, str) else None

    @property
    def told(self) -> list[Setting]:
        return [scalar.setting() for scalar in self.scalars.values()]


def accelerate(launch: Started, texts: Mapping[str, str], folder: Folder) -> Accelerate:
    """The configuration of a command; empty where it is another launcher's or none is named."""
    given = launch.given
    name = CONFIG if given.given(CONFIG) else NAMED
    option = given.values.get(name)
    if launch.launcher != "accelerate" or option is None or not option.values:
        return Accelerate()
    place = given.place(name)
    if name == NAMED and place.text in _PREDEFINED:
        return Accelerate(dict(_predefined(place)))
    there = named_file(launch, place.pieces, texts, folder)
    if there is None or there.text is None:
        return Accelerate(unread=(missing("configuration of accelerate", place),))
    try:
        scalars = yaml_scalars(there.path, there.text)
    except ValueError as error:
        return Accelerate(unread=(Unread.because(error, there.path),))
    return Accelerate(scalars, {there.path: there.text})


def _predefined(place: Word) -> Iterator[tuple[str, Scalar]]:
    stage = str(place.text).removeprefix("zero")
    said = {KIND: "DEEPSPEED", ACCELERATE.fact("zero").name: stage}
    for name, text in {**said, _PRECISION.name: "bf16"}.items():
        yield name, Scalar(name, text, False, place.path, place.line, place.column)


_YAML = Kind("accelerate", carrier="yaml")


def is_config(text: str) -> bool:
    """Whether a YAML found in a folder is accelerate's."""
    if not re.search(rf"^{KIND}:", text, re.MULTILINE):
        return False
    try:
        return ACCELERATE.fact("gpus").name in yaml_scalars("", text)
    except ValueError:
        return True


def alone(path: str, text: str, texts: Mapping[str, str]) -> Iterator[LaunchConfig]:
    """A configuration that no command here names; nothing for a YAML of another kind."""
    try:
        configured = Accelerate(yaml_scalars(path, text), {path: text})
    except ValueError as error:
        unread, own = Unread.because(error, path), is_config(text)
        if own or unread.over_limit:
            yield LaunchConfig(_YAML if own else UNREAD, (), (unread,), texts={path: text})
        return
    if KIND not in configured.scalars:
        return
    counts = {fact.name: fact for name in ("nodes", "gpus") for fact in _number(name, configured)}
    if len(counts) > 1:
        counts |= {fact.name: fact for fact in _each(counts)}
    facts = [*counts.values(), *stated(None, configured)]
    facts = with_fsdp([*facts, *configured.degrees], configured.fsdp(None), counts)
    framework = "deepspeed" if configured.uses_deepspeed else None
    told = tuple(configured.told)
    yield LaunchConfig(_YAML, tuple(facts), (), told, framework, {path: text})


def shape(launch: Started, configured: Accelerate) -> Iterator[Fact]:
    """Nodes, GPUs and GPUs of a node, as the command says them, else its configuration."""
    stated = {
        name: Fact(name, value, place.path, place.line, place.column)
        for name, (value, place) in launch.shape.items()
    }
    if launch.launcher == "accelerate":
        for name in ("nodes", "gpus"):
            if not launch.given.given(option(ACCELERATE.fact(name).name)):
                stated |= {each.name: each for each in _number(name, configured)}
        stated |= {each.name: each for each in _each(stated)}
    yield from stated.values()


def _each(stated: Mapping[str, Fact]) -> Iterator[Fact]:
    nodes, gpus = stated["nodes"], stated["gpus"]
    if isinstance(nodes.value, int) and isinstance(gpus.value, int) and nodes.value > 0:
        each, rest = divmod(gpus.value, nodes.value)
        if not rest:
            yield Fact("gpus_per_node", each, gpus.path, gpus.line, gpus.column)


def stated(launch: Started | None, configured: Accelerate) -> Iterator[Fact]:
    """Facts of DeepSpeed from accelerate's configuration, where neither a JSON nor the command gives them."""
    for name in ("zero", "microbatches"):
        if launch is None or not launch.given.given(option(ACCELERATE.fact(name).name)):
            yield from _number(name, configured)
    yield from precision(launch, configured)
    devices = [configured.scalars.get(row.name) for row in _OFFLOADED]
    last = next((level for level in (1, 0) if _device(devices[level])), None)
    if any(devices):
        at = next(each for each in reversed(devices) if each is not None)
        yield _fact("offload", OFFLOAD[0 if last is None else last + 1], at)


def precision(launch: Started | None, configured: Accelerate) -> Iterator[Fact]:
    """DeepSpeed's, unless the command says it itself."""
    scalar = configured.scalars.get(_PRECISION.name)
    if scalar is None or (launch is not None and launch.given.given(option(_PRECISION.name))):
        return
    word = "no" if scalar.value is False else scalar.text
    yield _fact("precision", _PRECISION.decoded(word) or word, scalar)


def mixed_precision(launch: Started | None, configured: Accelerate) -> Iterator[Fact]:
    """The precision of a job without DeepSpeed, where it is mixed: else its weights may still be bf16."""
    yield from (each for each in precision(launch, configured) if each.value != "fp32")


def _device(scalar: Scalar | None) -> bool:
    return scalar is not None and scalar.value not in (None, "none")


def _number(name: str, configured: Accelerate) -> Iterator[Fact]:
    scalar = configured.scalars.get(ACCELERATE.fact(name).name)
    if scalar is not None and isinstance(scalar.value, int) and not isinstance(scalar.value, bool):
        yield _fact(name, scalar.value, scalar)


def option_scalar(key: str, given: CommandOption) -> Scalar:
    """The value of a command's option as that of a key; true for one without a value."""
    place, value = given.place, given.values[0].text if given.values else "true"
    unknown = value if isinstance(value, Unknown) else None
    shown = "" if isinstance(value, Unknown) else value
    return Scalar(key, shown, False, place.path, place.line, place.column, unknown)


def key_of(name: str) -> str:
    """The key that an option of a command stands for."""
    return name.lstrip("-").replace("-", "_")


def _fact(name: str, value: Value, scalar: Scalar) -> Fact:
    return Fact(name, value, scalar.path, scalar.line, scalar.column)
