"""A YAML whose keys are Megatron's options (NeMo, FlagScale, Primus), or GPT-NeoX's -> the facts in it.

Such files are merged with others (presets, defaults of a program, several files of one run), so what a file
does not say is unknown. A key counts by its last part: `model.tensor_model_parallel_size`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from ....reading.bash.values import Piece, Word
from ....reading.command_options import CommandOption, CommandOptions, spelled
from ....reading.facts import Fact, LaunchConfig, Unknown
from ....reading.yaml_settings import Scalar
from ...yaml_jobs import yaml_job
from ..option_rows import ROWS
from . import arguments, spelling
from .commands import NO_CONFIG

#: A key that only such files have.
TELLING = re.compile(
    r"""^[^\S\n]*["']?(?:tensor_model_parallel_size|pipeline_model_parallel_size"""
    r"""|model[-_]parallel[-_]size|pipe[-_]parallel[-_]size)["']?\s*:""",
    re.MULTILINE,
)
#: Keys of GPT-NeoX (megatron/neox_arguments), as Megatron-LM's options.
NEOX = {
    "pipe_parallel_size": "--pipeline-model-parallel-size",
    "train_micro_batch_size_per_gpu": "--micro-batch-size",
    "train_batch_size": "--global-batch-size",
}
#: Keys that say more in a configuration than their option: query groups count by themselves.
OTHERS = {
    "num_query_groups": "--num-key-value-heads",
    "num_moe_experts": "--num-experts",
}
#: How many nodes and GPUs of each, by the last two parts of a key: PyTorch Lightning's trainer in NeMo, and
#: FlagScale's runner.
SHAPE = {
    "nodes": ("trainer.num_nodes", "runner.nnodes"),
    "gpus_per_node": ("trainer.devices", "runner.nproc_per_node"),
}
#: Keys by which stages get their layers in another way.
_UNEVEN = re.compile(
    r"(?:^|\.)(?:account_for_\w+|(?=\w+_in_(?:first|last))\w+_stage|(?=\w*pipeline)\w+_layout)$"
)
#: Keys that are null where nothing is recomputed.
_GRANULARITY = ("activations_checkpoint_granularity", "recompute_granularity")
#: `${NAME:8}`: the variable, else 8.
_DEFAULTED = re.compile(r"\$\{[A-Za-z_]\w*:([^${}]*)\}")
_PRECISIONS = {"bf16": "--bf16", "bfloat16": "--bf16", "16": "--fp16", "fp16": "--fp16"}
_PRESET = Unknown("a file that is merged with this one may say it")


class Merged(CommandOptions):
    """The keys of a file that others complete: what is not given is unknown."""

    def absent(self, *names: str) -> Unknown:
        return _PRESET


def is_config(text: str) -> bool:
    return TELLING.search(text) is not None


def alone(path: str, text: str, texts: Mapping[str, str]) -> Iterator[LaunchConfig]:
    """The job of such a file; nothing for a YAML of another kind.

    It names no framework: the programs check and complete these keys in ways of their own, so that only rules
    of arithmetic judge what they say.
    """
    if is_config(text):
        yield yaml_job(path, text, _program, lambda scalars: facts(path, list(scalars.values())))


def _program(scalars: Mapping[str, Scalar]) -> str:
    neox = any(_leaf(each) == "pipe_parallel_size" for each in scalars.values())
    return "gpt-neox" if neox else "megatron"


def facts(path: str, scalars: list[Scalar]) -> Iterator[Fact]:
    """Facts by the names of a YAML's keys, at whatever depth they stand."""
    given = _given(path, scalars)
    found = [*_shape(scalars), *arguments.facts(given, NO_CONFIG)]
    stage = next((each for each in scalars if each.name.endswith("zero_optimization.stage")), None)
    if stage is not None and isinstance(stage.value, int):
        found = [item for item in found if item[0] != "zero"]
        found.append(("zero", stage.value, stage.word))
    found = [item for item in _decided(scalars, given, found) if item[0] != "ulysses"]
    values = {name: value for name, value, _ in found} | {"ulysses": 1}
    if "gpus" in values:
        found.append(("dp", arguments.replicas(values), given.command))
    uneven = [
        each for each in scalars if _UNEVEN.search(each.name) and each.value not in (None, False)
    ]
    for name, value, place in found:
        if name == "layers" and uneven:
            value = Unknown(f"`{_leaf(uneven[0])}` gives stages their layers in another way")
        yield Fact(name, value, place.path, place.line, place.column)


def _decided(
    scalars: Iterable[Scalar], given: CommandOptions, found: Iterable[arguments.Found]
) -> Iterator[arguments.Found]:
    """The facts with what a key switches off that is there: recomputation by null, FP8 by `fp8: false`."""
    leaves = {_leaf(scalar): scalar for scalar in scalars}
    off = next((leaves[name] for name in _GRANULARITY if name in leaves), None)
    fp8 = leaves.get("fp8")
    base = next((name for name in ("--bf16", "--fp16") if given.switch(name) is True), None)
    for name, value, place in found:
        if name == "recompute" and off is not None and off.value is None:
            value, place = "none", off.word
        if name == "precision" and base and fp8 is not None and fp8.value is False:
            value, place = base.strip("-"), given.place(base)
        yield name, value, place


def _given(path: str, scalars: Iterable[Scalar]) -> CommandOptions:
    """The keys as options of a command; one that is written twice with different values is unknown."""
    options: dict[str, CommandOption] = {}
    for scalar in scalars:
        for option in _options(scalar):
            other = options.get(option.name)
            if other is not None and _texts(other) != _texts(option):
                option = _unclear(option, "it is written twice, with different values")
            options[option.name] = option
    start, every = Word((Piece("", path, 1, 1),)), tuple(options.values())
    renamed = spelled(CommandOptions(options, start, (), every), ROWS.today)
    return Merged(renamed.values, start, (), every)


def _options(scalar: Scalar) -> Iterator[CommandOption]:
    """The option that a key stands for; none for null."""
    leaf, value = _leaf(scalar), scalar.value
    listed = leaf.isdecimal()
    if listed:
        leaf = _leaf(scalar, 2)
    if leaf == "precision" and (name := _PRECISIONS.get(scalar.text.partition("-")[0])):
        yield CommandOption(name, scalar.word, ())
        return
    if leaf in ("enabled", "fp16", "bf16") and _leaf(scalar, 2) in ("fp16", "bf16"):
        leaf = _leaf(scalar, 2)
    name = NEOX.get(leaf) or OTHERS.get(leaf) or "--" + leaf.replace("_", "-")
    option = CommandOption(name, scalar.word, (scalar.word,))
    if listed or scalar.text == "auto":
        yield _unclear(option, f"`{scalar.text}` is one of several, or found at the start")
    elif "${" in scalar.text:
        yield _interpolated(option, scalar)
    elif value is True:
        yield CommandOption(name, scalar.word, ())
    elif leaf == "pipe_parallel_size" and value == 0:
        yield CommandOption(name, scalar.word, (_worded(scalar, "1"),))
    elif value is False and name not in spelling.SWITCHES:
        return
    elif value is not None:
        yield option


def _interpolated(option: CommandOption, scalar: Scalar) -> CommandOption:
    """`${NAME:8}` is taken for 8, as a default that a script's caller may replace."""
    defaulted = _DEFAULTED.fullmatch(scalar.text)
    if defaulted is None:
        return _unclear(option, f"`{scalar.text}` is filled in at the start")
    text = defaulted[1].strip()
    values = () if text.lower() == "true" else (_worded(scalar, text),)
    return CommandOption(option.name, option.word, values)


def _worded(scalar: Scalar, text: str | Unknown) -> Word:
    return Word((Piece(text, scalar.path, scalar.line, scalar.column),))


def _unclear(option: CommandOption, reason: str) -> CommandOption:
    place = option.word
    unknown = Piece(Unknown(reason), place.path, place.line, place.column)
    return CommandOption(option.name, option.word, (Word((unknown,)),))


def _texts(option: CommandOption) -> list[object]:
    return [word.text for word in option.values]


def _shape(scalars: Iterable[Scalar]) -> Iterator[arguments.Found]:
    found: dict[str, tuple[int, Word]] = {}
    for scalar in scalars:
        for fact, names in SHAPE.items():
            ends = any(f".{scalar.name}".endswith(f".{name}") for name in names)
            if ends and isinstance(scalar.value, int) and not isinstance(scalar.value, bool):
                found[fact] = (scalar.value, scalar.word)
    for fact, (value, word) in found.items():
        yield fact, value, word
    if len(found) == len(SHAPE):
        nodes, each = found["nodes"], found["gpus_per_node"]
        yield "gpus", nodes[0] * each[0], nodes[1]


def _leaf(scalar: Scalar, last: int = 1) -> str:
    """The last part of a key, or the one before it, with _ for -."""
    parts = scalar.name.split(".")
    return parts[-last].replace("-", "_") if len(parts) >= last else ""
