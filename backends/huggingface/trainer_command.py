"""A trainer's arguments, of a command and of the YAML that it names -> what the two say together.

LLaMA-Factory, axolotl, TRL and scripts of their kind: `llamafactory-cli train x.yaml`, `trl sft --config
x.yaml`, `accelerate launch train.py x.yaml`. What the command gives goes before the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...reading.bash.script import Folder
from ...reading.bash.values import Word
from ...reading.command_options import CommandOption, CommandOptions
from ...reading.facts import UNREAD, Fact, Kind, LaunchConfig, Setting, Unread, dashed
from ...reading.launchers import Started
from ...reading.named_files import missing, named_file
from ...reading.programs import reads_training_arguments
from ...reading.yaml_settings import Scalar, placed_scalars
from .accelerate import Accelerate, accelerate, key_of, mixed_precision, option_scalar, shape
from .fsdp import BLOCK, of_arguments, with_fsdp
from .fsdp_file import fsdp_block
from .trainer_yaml import DEEPSPEED, is_config, trainer_facts

#: Options that name the file; without one it is the first argument.
OPTIONS = frozenset({"--config", "--config-path", "--recipe"})
#: Launchers and modules that read such a file and nothing else.
_ONLY = ("llamafactory", "axolotl.cli.train", "axolotl", "trl")


@dataclass(frozen=True)
class Recipe:
    """The values of the file with the command's; `texts` is the file, or `unread` says why it is none."""

    scalars: Mapping[str, Scalar] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    unread: tuple[Unread, ...] = ()

    @property
    def deepspeed(self) -> Word | None:
        """The word that names DeepSpeed's config."""
        named = self.scalars.get(DEEPSPEED)
        return named.word if named is not None and isinstance(named.value, str) else None

    @property
    def facts(self) -> list[Fact]:
        return list(trainer_facts(self.scalars))

    @property
    def told(self) -> list[Setting]:
        """The settings of its files, and those of FSDP that stand in the command as a text."""
        block = f"{BLOCK}."
        return [
            each.setting()
            for name, each in self.scalars.items()
            if each.path in self.texts or name.startswith(block)
        ]

    def job(self, launch: Started, configured: Accelerate) -> LaunchConfig:
        """The job of a command without DeepSpeed: FSDP is the trainer's own, else accelerate's."""
        stated = {fact.name: fact for fact in shape(launch, configured)}
        facts = [*stated.values(), *self.facts]
        told = {fact.name for fact in facts}
        more = (*mixed_precision(launch, configured), *configured.degrees)
        facts += [fact for fact in more if fact.name not in told]
        sharded = of_arguments(self.scalars) or configured.fsdp(launch)
        facts = with_fsdp(facts, sharded, stated)
        settings = (*launch.options().settings("argument"), *self.told, *configured.told)
        texts = {**configured.files, **self.texts}
        kind, unread = Kind("trainer", carrier="bash"), (*configured.unread, *self.unread)
        return LaunchConfig(kind, tuple(facts), unread, settings, None, texts)


def recipe(launch: Started, texts: Mapping[str, str], folder: Folder) -> Recipe | None:
    """The file that a command names; None where it names none, or a YAML of another kind."""
    place = _named(launch.arguments)
    if place is None:
        return None
    there = named_file(launch, place.pieces, texts, folder)
    if there is None:
        only = launch.launcher in _ONLY or launch.program in _ONLY
        return Recipe(unread=(missing("YAML of the trainer", place),)) if only else None
    if not is_config(there.source.text):
        return None
    files = {} if there.text is None else {there.path: there.text}
    try:
        scalars = placed_scalars(there.source)
    except ValueError as error:
        return Recipe({}, files, (Unread.because(error, there.path),))
    return _recipe(launch, _over(launch, scalars), files, texts, folder)


def of_program(launch: Started, texts: Mapping[str, str], folder: Folder) -> LaunchConfig | None:
    """A program of one's own: what accelerate's configuration says, and the Trainer's arguments."""
    configured = accelerate(launch, texts, folder)
    given = launch.options()
    own = Recipe()
    if reads_training_arguments(dashed(option.name) for option in given.every):
        own = _recipe(launch, _over(launch, {}), {}, texts, folder)
    if not configured.files and not own.scalars:
        return None
    return replace(own.job(launch, configured), kind=UNREAD)


def _recipe(
    launch: Started,
    scalars: Mapping[str, Scalar],
    files: Mapping[str, str],
    texts: Mapping[str, str],
    folder: Folder,
) -> Recipe:
    """With FSDP's keys, where they are in a file of their own."""
    block = fsdp_block(launch, scalars, texts, folder)
    return Recipe({**scalars, **block.keys}, {**files, **block.texts}, block.unread)


def _named(words: Sequence[Word]) -> Word | None:
    """The word of the file: behind one of `OPTIONS`, or the first that is no option's value."""
    before = ""
    for item in words:
        name, sign, _ = item.lead.partition("=")
        named = name.replace("_", "-") in OPTIONS
        if item.tail.endswith((".yaml", ".yml")):
            if sign and named:
                return item.cut(len(name) + 1)
            if before in OPTIONS or not (sign or before.startswith("--")):
                return item
        before = "" if sign else name.replace("_", "-")
    return None


def _over(launch: Started, scalars: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """The file's values under the command's: `--key value`, and LLaMA-Factory's `key=value`."""
    given = launch.options()
    told = {name: _hidden(scalar, given) for name, scalar in scalars.items()}
    for name, option in given.values.items():
        if name.startswith("--"):
            told[key_of(name)] = option_scalar(key_of(name), option)
    for item in launch.arguments:
        name, sign, _ = item.lead.partition("=")
        if sign and name.isidentifier():
            value = item.cut(len(name) + 1)
            told[name] = option_scalar(name, CommandOption(name, item, (value,)))
    return told


def _hidden(scalar: Scalar, given: CommandOptions) -> Scalar:
    """A value that an unknown word of the command may replace is unknown."""
    reason = given.absent("--" + scalar.name.replace("_", "-"))
    return scalar if reason is None else replace(scalar, unknown=reason)
