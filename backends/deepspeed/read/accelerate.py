"""`accelerate launch` with its YAML configuration -> the facts of a job that DeepSpeed runs.

Options of the command go before the configuration's (accelerate/commands/launch.py); without a file that is
named, accelerate reads one in the user's home, which is not here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ....compiler.plan import OFFLOAD
from ....reading.bash.script import Folder
from ....reading.bash.values import Word
from ....reading.facts import UNREAD, Fact, Kind, LaunchConfig, Setting, Unread, Value
from ....reading.launchers import Started
from ....reading.named_files import missing, named_file
from ....reading.yaml_settings import Scalar, yaml_scalars

CONFIG = "--config-file"
#: trl's word for it, a path or the name of one of its own configurations, of which three are DeepSpeed's
#: (trl 0.15 to 0.24, trl/accelerate_configs/zero1.yaml to zero3.yaml).
NAMED = "--accelerate-config"
_PREDEFINED = ("zero1", "zero2", "zero3")
#: Fact -> key of the configuration, and the option of the command that goes before it.
NUMBERS = {
    "nodes": ("num_machines", "--num-machines"),
    "gpus": ("num_processes", "--num-processes"),
    "zero": ("deepspeed_config.zero_stage", "--zero-stage"),
    "microbatches": (
        "deepspeed_config.gradient_accumulation_steps",
        "--gradient-accumulation-steps",
    ),
}
_OFFLOADED = ("deepspeed_config.offload_optimizer_device", "deepspeed_config.offload_param_device")
_JSON = "deepspeed_config.deepspeed_config_file"


@dataclass(frozen=True)
class Accelerate:
    """Accelerate's configuration: `config` is the path of DeepSpeed's own, `told` are its settings."""

    scalars: Mapping[str, Scalar] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    unread: tuple[Unread, ...] = ()

    @property
    def uses_deepspeed(self) -> bool:
        kind = self.scalars.get("distributed_type")
        return kind is not None and kind.text.upper() == "DEEPSPEED"

    @property
    def config(self) -> Word | None:
        named = self.scalars.get(_JSON)
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
    said = {"distributed_type": "DEEPSPEED", "deepspeed_config.zero_stage": stage}
    for name, text in {**said, "mixed_precision": "bf16"}.items():
        yield name, Scalar(name, text, False, place.path, place.line, place.column)


def is_config(text: str) -> bool:
    """Whether a YAML found in a folder is accelerate's."""
    if not re.search(r"^distributed_type:", text, re.MULTILINE):
        return False
    try:
        return "num_processes" in yaml_scalars("", text)
    except ValueError:
        return True


def alone(path: str, text: str, texts: Mapping[str, str]) -> Iterator[LaunchConfig]:
    """A configuration that no command here names; nothing for a YAML of another kind."""
    try:
        configured = Accelerate(yaml_scalars(path, text), {path: text})
    except ValueError as error:
        yield LaunchConfig(UNREAD, (), (Unread.because(error, path),), texts={path: text})
        return
    if "distributed_type" not in configured.scalars:
        return
    found = {fact.name: fact for name in ("nodes", "gpus") for fact in _number(name, configured)}
    if len(found) > 1:
        found |= {fact.name: fact for fact in _each(found)}
    facts = [*found.values(), *stated(None, configured)]
    framework = "deepspeed" if configured.uses_deepspeed else None
    told = tuple(configured.told)
    kind = Kind("accelerate", carrier="yaml")
    yield LaunchConfig(kind, tuple(facts), (), told, framework, {path: text})


def of_program(launch: Started, texts: Mapping[str, str], folder: Folder) -> LaunchConfig | None:
    """A program of one's own under accelerate: nodes and processes as the configuration has them."""
    configured = accelerate(launch, texts, folder)
    if not configured.files:
        return None
    told = (*launch.options().settings("argument"), *configured.told)
    return LaunchConfig(UNREAD, tuple(shape(launch, configured)), (), told, None, configured.files)


def shape(launch: Started, configured: Accelerate) -> Iterator[Fact]:
    """Nodes, GPUs and GPUs of a node, as the command says them, else its configuration."""
    stated = {
        name: Fact(name, value, place.path, place.line, place.column)
        for name, (value, place) in launch.shape.items()
    }
    if launch.launcher == "accelerate":
        for name in ("nodes", "gpus"):
            if not launch.given.given(NUMBERS[name][1]):
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
    given = launch.given.values if launch is not None else {}
    for name in ("zero", "microbatches"):
        if NUMBERS[name][1] not in given:
            yield from _number(name, configured)
    precision = configured.scalars.get("mixed_precision")
    if precision is not None and "--mixed-precision" not in given:
        told: Value = precision.text if precision.value is not False else "fp32"
        yield _fact("precision", "fp32" if told == "no" else told, precision)
    devices = [configured.scalars.get(name) for name in _OFFLOADED]
    last = next((level for level in (1, 0) if _device(devices[level])), None)
    if any(devices):
        at = next(each for each in reversed(devices) if each is not None)
        yield _fact("offload", OFFLOAD[0 if last is None else last + 1], at)


def _device(scalar: Scalar | None) -> bool:
    return scalar is not None and scalar.value not in (None, "none")


def _number(name: str, configured: Accelerate) -> Iterator[Fact]:
    scalar = configured.scalars.get(NUMBERS[name][0])
    if scalar is not None and isinstance(scalar.value, int) and not isinstance(scalar.value, bool):
        yield _fact(name, scalar.value, scalar)


def _fact(name: str, value: Value, scalar: Scalar) -> Fact:
    return Fact(name, value, scalar.path, scalar.line, scalar.column)
