"""A launched torchtitan command, a TOML file or a Python config alone -> its job."""

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from ....reading.bash.script import Folder
from ....reading.bash.values import Word
from ....reading.command_options import CommandOptions
from ....reading.facts import Fact, Kind, LaunchConfig, Setting, Unknown, Unread, Value
from ....reading.launchers import Started
from ....reading.named_files import missing, named_file
from . import python_config, python_sources
from .facts import Reader
from .sources import Launch, Place, Registered, Settings, registered, settings_of
from .spelling import KEYS

CONFIG = "--job.config_file"
#: Functions of a module that are judged: each takes a look at the whole text.
MOST_CONFIGS = 32
_TOML = Kind("torchtitan", "toml", "toml")
_PYTHON = Kind("torchtitan", "python", "python")
_SCRIPTS = ("torchtitan.train", "torchtitan.experiments", "torchtitan/train.py")


def alone(path: str, text: str, texts: Mapping[str, str]) -> Iterator[LaunchConfig]:
    """A TOML file that no command here names; nothing for one without a table of torchtitan's."""
    try:
        settings = settings_of(path, text)
    except ValueError as error:
        unread = (Unread.because(error, path, what="it is not valid TOML: "),)
        yield LaunchConfig(_TOML, (), unread, texts={path: text})
        return
    if not {"model", "training", "parallelism"} & {
        key.partition(".")[0] for key in settings.values
    }:
        return
    yield _config(_TOML, settings, _models(texts), {path: text})


def alone_in_python(path: str, text: str, texts: Mapping[str, str]) -> Iterator[LaunchConfig]:
    """A module of functions that return a Trainer.Config; nothing for any other module."""
    if "Trainer.Config" not in text:
        return
    try:
        found = python_config.configs(path, text)
    except (SyntaxError, ValueError) as error:
        unread = (Unread.because(error, path, what="it is not valid Python: "),)
        yield LaunchConfig(_PYTHON, (), unread, texts={path: text})
        return
    models = _models({path: text})
    for settings in islice(found.values(), MOST_CONFIGS):
        yield _config(_PYTHON, settings, models, {path: text})
    if len(found) > MOST_CONFIGS:
        reason = f"only its first {MOST_CONFIGS} configurations are read"
        unread = (Unread(reason, path, 1, over_limit=True, rest=True),)
        yield LaunchConfig(_PYTHON, (), unread, texts={path: text})


def _models(texts: Mapping[str, str]) -> dict[str, Registered]:
    found: dict[str, Registered] = {}
    for path, text in texts.items():
        if path.endswith(".py") and ("ModelArgs" in text or "Trainer.Config" in text):
            try:
                found |= registered(path, text) | python_sources.models(path, text)
            except (SyntaxError, ValueError):
                continue
    return found


def _config(
    kind: Kind, settings: Settings, models: Mapping[str, Registered], files: dict[str, str]
) -> LaunchConfig:
    found = _facts(settings, models, None)
    unknown = Unknown("a config does not say how many processes read it")
    path = settings.path
    found += [Fact(name, unknown, path, 1) for name in ("nodes", "gpus_per_node")]
    used = {fact.path: files.get(fact.path, "") for fact in found if fact.path in files}
    return LaunchConfig(kind, tuple(found), (), tuple(_told(settings)), "torchtitan", used or files)


def _told(settings: Settings, own: Collection[str] = ()) -> Iterator[Setting]:
    """Settings in effect: those of a file, and a command's `own` options as far as they are known, which go
    before them."""
    scope = "python" if settings.path.endswith(".py") else "toml"
    for key, value in settings.values.items():
        place = settings.place(key)
        if place.path != settings.path and (key not in own or isinstance(value, Unknown)):
            continue
        name = settings.written.get(key, key)
        values = value if isinstance(value, list) else [value]
        told = tuple(
            v if isinstance(v, bool | int | float | str | Unknown) else str(v) for v in values
        )
        length = len(name.rpartition(".")[2])
        yield Setting(scope, name, told, place.path, place.line, place.column, length)


def _facts(
    settings: Settings, models: Mapping[str, Registered], launch: Launch | None
) -> list[Fact]:
    """The facts as the file has them: `micro_batch` is the local batch, what is absent is left out."""
    found: list[Fact] = []
    reader = Reader(settings, models, launch)
    for name, value, place in reader.facts():
        if name == "micro_batch":
            key = "training.local_batch_size"
            if settings.number("parallelism.pipeline_parallel_degree") != 1:
                found.append(_fact("pipeline_micro_batch", value, place))
            value, place = settings.number(key), settings.place(key)
        if (
            name == "global_batch"
            and settings.value("training.global_batch_size") == -1
            and isinstance(value, Unknown)
        ):
            continue
        if name == "precision" and value in ("fp8", "mxfp8"):
            value = f"bf16+{value}"
        found.append(_fact(name, value, place))
    for name, key in (
        ("dp_replicate", "parallelism.data_parallel_replicate_degree"),
        ("dp_shard", "parallelism.data_parallel_shard_degree"),
    ):
        found.append(_fact(name, settings.number(key), settings.place(key)))
    key = "parallelism.expert_tensor_parallel_degree"
    if settings.given(key):
        found.append(_fact("etp", settings.number(key), settings.place(key)))
    return found


def _fact(name: str, value: Value | Unknown, place: Place) -> Fact:
    return Fact(name, value, place.path, place.line, place.column)


def job(launch: Started, texts: Mapping[str, str], folder: Folder) -> LaunchConfig | None:
    entry = launch.entry or launch.launch.words[0]
    given = launch.options()
    name = entry.tail
    if not given.given(CONFIG) and not any(part in name for part in _SCRIPTS):
        return None
    told = list(given.settings("argument"))
    shape = {name: (value, place) for name, (value, place) in launch.shape.items()}
    found = _settings(given, launch, texts, folder)
    files: dict[str, str]
    unread: tuple[Unread, ...] = ()
    if isinstance(found, Unread):
        unread, settings, files = (found,), Settings(entry.path, {}, {}), {}
    else:
        settings, files = found
    own = dict(_overrides(given))
    overridden = settings.with_overrides(own)
    told += [] if unread else _told(overridden, own)
    start = Launch(shape["nodes"][0], shape["gpus_per_node"][0], _place(shape["nodes"][1]))
    beside = {**_beside(settings, launch, texts, folder), **files}
    models = _models(beside)
    chosen = models.get(str(settings.value("model.flavor")))
    if chosen is not None:
        files = {chosen.place.path: beside[chosen.place.path], **files}
    facts = [
        fact
        for fact in ([] if unread else _facts(overridden, models, start))
        if fact.name not in shape or isinstance(shape[fact.name][0], Unknown)
    ]
    known = {fact.name for fact in facts if not isinstance(fact.value, Unknown)}
    facts = [fact for fact in facts if fact.name in known or fact.name not in shape]
    facts += [
        _fact(name, value, _place(place))
        for name, (value, place) in shape.items()
        if name not in known
    ]
    kind = replace(_TOML if given.given(CONFIG) else _PYTHON, carrier="bash")
    return LaunchConfig(kind, tuple(facts), unread, tuple(told), "torchtitan", files)


def _beside(
    settings: Settings, launch: Started, texts: Mapping[str, str], folder: Folder
) -> Mapping[str, str]:
    """Files handed over, and the module that the config imports."""
    module = settings.value("experimental.custom_import")
    found = dict(texts)
    if isinstance(module, str):
        from ....reading.bash.values import word

        there = named_file(launch, word(f"{module.replace('.', '/')}.py").pieces, texts, folder)
        if there is not None and there.text is not None:
            found[there.path] = there.text
    return found


def _settings(
    given: CommandOptions, launch: Started, texts: Mapping[str, str], folder: Folder
) -> tuple[Settings, dict[str, str]] | Unread:
    option = given.values.get(CONFIG)
    if option is None or not option.values:
        return _module(given, launch, texts, folder)
    word = option.values[0]
    there = named_file(launch, word.pieces, texts, folder)
    if there is None:
        return missing("torchtitan config", word)
    try:
        text = there.text if there.text is not None else there.source.text
        return settings_of(there.path, text), {there.path: text} if there.text is not None else {}
    except ValueError as error:
        return Unread.because(error, there.path, what="it is not valid TOML: ")


def _module(
    given: CommandOptions, launch: Started, texts: Mapping[str, str], folder: Folder
) -> tuple[Settings, dict[str, str]] | Unread:
    """0.3's `--module parc_job --config train`."""
    from ....reading.bash.values import word

    command = launch.launch.words[0]
    module, function = given.text("--module"), given.text("--config")
    if not isinstance(module, str) or not isinstance(function, str):
        return Unread("it does not say which config it takes", command.path, command.line)
    base = module.replace(".", "/")
    for path in (
        f"{base}.py",
        f"{base}/config_registry.py",
        f"torchtitan/models/{base}/config_registry.py",
    ):
        there = named_file(launch, word(path).pieces, texts, folder)
        if there is not None and there.text is not None:
            try:
                found = python_config.configs(there.path, there.text)
            except (SyntaxError, ValueError) as error:
                return Unread.because(error, there.path, what="it is not valid Python: ")
            if function in found:
                return found[function], {there.path: there.text}
    return missing(f"config `{function}` of `{module}`", command)


def _place(word: Word) -> Place:
    return Place(word.path, word.line, word.column)


def _overrides(given: CommandOptions) -> Iterator[tuple[str, tuple[Any, Place]]]:
    """`--training.seq_len 4096` on the command line wins over the file."""
    for name, option in given.values.items():
        key = name.removeprefix("--").replace("-", "_")
        if "." not in key or name == CONFIG:
            continue
        text = option.values[0].text if option.values else "True"
        yield KEYS.get(key, key), (_literal(text), _place(option.place))


def _literal(text: str | Unknown) -> Any:
    if isinstance(text, Unknown):
        return text
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
