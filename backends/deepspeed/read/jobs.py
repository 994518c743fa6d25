"""A launched program with a DeepSpeed config, or the config alone -> its job."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from ....reading.bash.script import Folder
from ....reading.bash.source import file_source
from ....reading.bash.values import Word
from ....reading.command_options import CommandOptions, spelled
from ....reading.facts import Fact, Kind, LaunchConfig, Unknown, Unread, Value
from ....reading.launchers import Started
from ....reading.named_files import NamedFile, missing, named_file
from ...huggingface.accelerate import Accelerate, accelerate, shape, stated
from ...huggingface.option_rows import ACCELERATE, option
from ...huggingface.trainer_command import Recipe, recipe
from ...huggingface.trainer_yaml import BATCH, PRECISIONS
from ..releases import top_keys
from . import settings
from .document import NotADocument, Table, document
from .files import model_facts, offload, script_facts, together

CONFIGS = ("--deepspeed-config", "--deepspeed", "--ds-config", "--ds-config-path")
#: Arguments of Hugging Face's Trainer and its kin, by the fact that each states.
TRAINER = (ACCELERATE.fact("zero"), *BATCH)
#: Nobody but the command that reads a config knows these.
_OUTSIDE = ("nodes", "gpus_per_node", "gpus")

_JSON = Kind("deepspeed", carrier="json")


def alone(path: str, text: str, texts: Mapping[str, str]) -> Iterator[LaunchConfig]:
    """A config that no command here names."""
    try:
        table = document(file_source(path, text))
    except NotADocument as error:
        unread = (Unread.because(error, *error.place),)
        yield LaunchConfig(_JSON, (), unread, texts={path: text})
        return
    if _of_another(table):
        return
    facts = [*settings.facts(path, table), offload(path, table)]
    unknown = Unknown("a DeepSpeed config does not say how many processes read it")
    facts += [Fact(name, unknown, path, 1) for name in _OUTSIDE]
    told = tuple(settings.settings(table))
    yield LaunchConfig(_JSON, tuple(facts), (), told, "deepspeed", {path: text})


#: Unknown keys from which on a file may be another program's, such as the arguments that a trainer saves.
_MANY_UNKNOWN = 10


def _of_another(table: Table) -> bool:
    """Whether most keys are not DeepSpeed's: its own config lies then inside, or its words do. One misspelt
    key is DeepSpeed's."""
    unknown = table.members.keys() - top_keys()
    if len(unknown) == len(table.members) and not any(map(_misspelt, unknown)):
        return True
    return len(unknown) > max(_MANY_UNKNOWN, 2 * (len(table.members) - len(unknown)))


def _misspelt(key: str) -> bool:
    import difflib

    return bool(difflib.get_close_matches(key, top_keys(), n=1, cutoff=0.85))


def job(launch: Started, texts: Mapping[str, str], folder: Folder) -> LaunchConfig | None:
    """A command whose options, launcher, accelerate configuration or trainer's YAML name DeepSpeed, and one
    with such a YAML that does not."""
    plain = launch.options()
    given = spelled(plain)
    configured = accelerate(launch, texts, folder)
    named = recipe(launch, texts, folder)
    yaml = named or Recipe()
    place = _config_place(launch, given, configured) or yaml.deepspeed
    asked = launch.given.given("--use-deepspeed") or configured.uses_deepspeed
    if place is None and not asked and not any(given.given(name) for name in CONFIGS):
        return named.job(launch, configured) if named else None
    found = list(shape(launch, configured))
    told = [*plain.settings("argument"), *yaml.told]
    files, unread = {**configured.files, **yaml.texts}, [*configured.unread, *yaml.unread]
    if place is None:
        found += [*stated(launch, configured), *_trainer(given), *yaml.facts]
    else:
        there = named_file(launch, place.pieces, texts, folder)
        table = _table(there, place, unread)
        if there is not None and there.text is not None:
            files[there.path] = there.text
        if there is not None and table is not None:
            told += settings.settings(table)
            found += _config(there.path, table)
        found = _replaced(found, [*yaml.facts, *_trainer(given)])
        found += _program(launch, given, texts, folder, files)
    found = list({fact.name: fact for fact in reversed(found)}.values())[::-1]
    return LaunchConfig(
        Kind("deepspeed", carrier="bash"),
        tuple(_with_derived(found)),
        tuple(unread),
        (*told, *configured.told),
        "deepspeed",
        files,
    )


def _config_place(launch: Started, given: CommandOptions, configured: Accelerate) -> Word | None:
    """The word that names DeepSpeed's config: the program's option, accelerate's, or its configuration's."""
    named = (given.values[name] for name in CONFIGS if given.given(name))
    option = next((each for each in named if each.values), None)
    option = option or launch.given.values.get("--deepspeed-config-file")
    if option is not None and option.values:
        return option.place
    return configured.config


def _table(there: NamedFile | None, place: Word, unread: list[Unread]) -> Table | None:
    """The config, or why it is not read among `unread`."""
    if there is None:
        unread.append(missing("DeepSpeed config", place))
        return None
    try:
        return document(there.source)
    except NotADocument as error:
        written = there.text is None and not there.source.unknown
        told = Unread.because(error, *error.place)
        unread.append(replace(told, broken=written and not told.over_limit))
        return None


def _with_derived(found: list[Fact]) -> list[Fact]:
    derived = {fact.name: fact for fact in together(found)}
    kept = [
        fact for fact in found if fact.name not in derived or not isinstance(fact.value, Unknown)
    ]
    names = {fact.name for fact in kept}
    return kept + [fact for name, fact in derived.items() if name not in names]


def _fact(name: str, value: Value | Unknown, place: Word) -> Fact:
    return Fact(name, value, place.path, place.line, place.column)


def _config(path: str, table: Table) -> Iterator[Fact]:
    yield from settings.facts(path, table)
    yield offload(path, table)


def _trainer(given: CommandOptions) -> Iterator[Fact]:
    """Arguments of Hugging Face's Trainer and its kin."""
    for row in TRAINER:
        for name in map(option, row.names):
            value = given.number(name)
            if value is not None:
                yield _fact(row.fact, value, given.place(name))
    for row in PRECISIONS:
        name = option(row.name)
        if given.given(name) and given.switch(name) is True:
            yield _fact(row.fact, row.decoded(True) or row.name, given.place(name))


def _replaced(found: list[Fact], trainer: list[Fact]) -> list[Fact]:
    """The trainer's own arguments fill in what the config leaves to it."""
    names = {fact.name: fact for fact in trainer}
    known = {
        fact.name
        for fact in found
        if "auto" not in str(fact.value) and not isinstance(fact.value, Unknown)
    }
    kept = [fact for fact in found if fact.name in known or fact.name not in names]
    return kept + [fact for name, fact in names.items() if name not in known]


def _program(
    launch: Started,
    given: CommandOptions,
    texts: Mapping[str, str],
    folder: Folder,
    files: dict[str, str],
) -> Iterator[Fact]:
    """The sizes and stages of a program that parc wrote, beside its config."""
    model = given.values.get("--model")
    if model is None or not model.values or not str(model.values[0].tail).endswith(".json"):
        return
    there = named_file(launch, model.values[0].pieces, texts, folder)
    if there is None or there.text is None:
        return
    try:
        table = document(there.source)
    except NotADocument:
        return
    if table.find("layers") is None:
        return
    files[there.path] = there.text
    yield from model_facts(there.path, table)
    script = named_file(launch, launch.entry.pieces, texts, folder) if launch.entry else None
    if script is not None and script.text is not None:
        files[script.path] = script.text
        with suppress(ValueError):  # a program that does not parse says nothing
            yield from script_facts(script.path, script.text)
