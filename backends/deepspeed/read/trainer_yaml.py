"""YAML with arguments of a trainer, and the DeepSpeed config that it names -> the facts of their job."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ....reading.bash.source import file_source
from ....reading.facts import Kind, LaunchConfig, Unread
from ....reading.named_files import missing
from ....reading.yaml_settings import Scalar, yaml_scalars
from ...huggingface.fsdp import of_arguments, with_fsdp
from ...huggingface.trainer_yaml import DEEPSPEED, is_config, trainer_facts
from . import settings
from .document import NotADocument, Table, document
from .files import offload

_YAML = Kind("trainer", carrier="yaml")


def alone(path: str, text: str, texts: Mapping[str, str]) -> Iterator[LaunchConfig]:
    """The job of such a file, of which nobody says on how many GPUs; nothing for a YAML of another kind."""
    if not is_config(text):
        return
    try:
        scalars = yaml_scalars(path, text)
    except ValueError as error:
        yield LaunchConfig(_YAML, (), (Unread.because(error, path),), texts={path: text})
        return
    facts = [*trainer_facts(scalars)]
    named = scalars.get(DEEPSPEED)
    sharded = of_arguments(scalars) if named is None or named.value is None else None
    facts = with_fsdp(facts, sharded, {})
    told = [scalar.setting() for scalar in scalars.values()]
    config = LaunchConfig(_YAML, tuple(facts), (), tuple(told), None, {path: text})
    yield config if named is None or named.value is None else _linked(config, named, texts)


def _linked(config: LaunchConfig, named: Scalar, texts: Mapping[str, str]) -> LaunchConfig:
    """With what the DeepSpeed config says, where it is among the files."""
    there = _found(named, texts)
    unread: tuple[Unread, ...] = ()
    table: Table | None = None
    if there is None:
        unread = (missing("DeepSpeed config", named.word),)
    else:
        try:
            table = document(file_source(there, texts[there]))
        except NotADocument as error:
            unread = (Unread.because(error, *error.place),)
    if there is None or table is None:
        return replace(config, framework="deepspeed", unread=unread)
    own = {fact.name for fact in config.facts}
    said = [*settings.facts(there, table), offload(there, table)]
    facts = [fact for fact in said if fact.name not in own and "auto" not in str(fact.value)]
    return replace(
        config,
        framework="deepspeed",
        facts=(*config.facts, *facts),
        settings=(*config.settings, *settings.settings(table)),
        texts={**config.texts, there: texts[there]},
    )


def _found(named: Scalar, texts: Mapping[str, str]) -> str | None:
    """The file that is named, from the current folder or from the YAML's own."""
    folder = os.path.dirname(named.path)
    paths = (os.path.normpath(named.text), os.path.normpath(os.path.join(folder, named.text)))
    return next((path for path in paths if path in texts), None)
