"""A command that names a YAML of a trainer's arguments -> what the two say together.

LLaMA-Factory, axolotl, TRL and scripts of their kind: `llamafactory-cli train x.yaml`, `trl sft --config
x.yaml`, `accelerate launch train.py x.yaml`. What the command gives goes before the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ....reading.bash.script import Folder
from ....reading.bash.values import Word
from ....reading.command_options import CommandOptions
from ....reading.facts import Fact, Kind, LaunchConfig, Setting, Unknown, Unread
from ....reading.launchers import Started
from ....reading.named_files import missing, named_file
from ....reading.yaml_settings import Scalar, placed_scalars
from .accelerate import Accelerate, shape
from .trainer_yaml import is_config, trainer_facts

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
        named = self.scalars.get("deepspeed")
        return named.word if named is not None and isinstance(named.value, str) else None

    @property
    def facts(self) -> list[Fact]:
        return list(trainer_facts(self.scalars))

    @property
    def told(self) -> list[Setting]:
        return [each.setting() for each in self.scalars.values() if each.path in self.texts]

    def job(self, launch: Started, configured: Accelerate) -> LaunchConfig:
        """The job of a command without DeepSpeed."""
        facts = (*shape(launch, configured), *self.facts)
        told = (*launch.options().settings("argument"), *self.told, *configured.told)
        texts = {**configured.files, **self.texts}
        kind, unread = Kind("trainer", carrier="bash"), (*configured.unread, *self.unread)
        return LaunchConfig(kind, facts, unread, told, None, texts)


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
    return Recipe(_over(launch, scalars), files)


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
    found = {name: _hidden(scalar, given) for name, scalar in scalars.items()}
    for name, option in given.values.items():
        if name.startswith("--"):
            found |= _scalar(name, option.place, option.values[0] if option.values else None)
    for item in launch.arguments:
        name, sign, _ = item.lead.partition("=")
        if sign and name.isidentifier():
            value = item.cut(len(name) + 1)
            found |= _scalar(name, value, value)
    return found


def _hidden(scalar: Scalar, given: CommandOptions) -> Scalar:
    """A value that an unknown word of the command may replace is unknown."""
    reason = given.absent("--" + scalar.name.replace("_", "-"))
    return scalar if reason is None else replace(scalar, unknown=reason)


def _scalar(name: str, place: Word, value: Word | None) -> dict[str, Scalar]:
    key = name.lstrip("-").replace("-", "_")
    text = "true" if value is None else value.text
    unknown = text if isinstance(text, Unknown) else None
    shown = "" if isinstance(text, Unknown) else text
    return {key: Scalar(key, shown, False, place.path, place.line, place.column, unknown)}
