"""A launched Megatron command -> its job, with the DeepSpeed config that it names."""

import os
import re
from collections.abc import Mapping
from dataclasses import replace

from ....reading.bash.script import Folder
from ....reading.bash.values import Piece, Word
from ....reading.command_options import CommandOptions
from ....reading.facts import Fact, Kind, LaunchConfig, Unknown, Unread, Value
from ....reading.launchers import Started
from ....reading.named_files import missing, named_file
from ....reading.programs import trains
from ...deepspeed.read import settings
from ...deepspeed.read.document import NotADocument, Table, document
from ...run_folder import FILE
from . import spelling
from .arguments import DeepSpeed
from .commands import NO_CONFIG, given_to, job_facts, recognised

#: CommandOptions that name a DeepSpeed config.
CONFIGS = ("--deepspeed-config", "--ds-config", "--deepspeed")


def job(launch: Started, texts: Mapping[str, str], folder: Folder) -> LaunchConfig | None:
    if not recognised(launch):
        return None
    found = _job(launch, texts, folder)
    return found if trains(launch.program) else without_dummies(found)


def _job(launch: Started, texts: Mapping[str, str], folder: Folder) -> LaunchConfig:
    given = given_to(launch)
    told = list(launch.options(spelling.SWITCHES).settings("argument"))
    if not given.given("--deepspeed") and not given.given("--deepspeed-config"):
        fork = "swift" if launch.launcher == "swift" else ""
        kind = Kind("megatron", fork, "bash")
        own = _run_beside(launch, given, texts, folder)
        return LaunchConfig(kind, tuple(job_facts(launch)), (), tuple(told), "megatron", own)
    found, unread = config(launch, given, texts, folder)
    table, path, text = found
    facts = job_facts(launch, said(path, table) if table is not None else NO_CONFIG)
    if table is not None and given.given("--deepspeed"):
        told += settings.settings(table)
        facts += _only_there(facts, path, table)
    own = {} if text is None else {path: text}
    kind = Kind("megatron", "deepspeed", "bash")
    return LaunchConfig(kind, tuple(facts), unread, tuple(told), "megatron", own)


def _run_beside(
    launch: Started, given: CommandOptions, texts: Mapping[str, str], folder: Folder
) -> dict[str, str]:
    """The run.json of an emitted script, which has the vocabulary before it was padded."""
    if not given.given("--padded-vocab-size"):
        return {}
    path = os.path.join(os.path.dirname(launch.launch.scripts[-1]), FILE)
    text = texts[path] if path in texts else folder(path)
    return {} if text is None else {path: text}


_DUMMY = Unknown("a negative number stands for what the checkpoint says")


def without_dummies(job: LaunchConfig) -> LaunchConfig:
    """An evaluation's or a converter's job, whose negative sizes are replaced by those of the checkpoint."""
    facts = (replace(each, value=_known(each.value)) for each in job.facts)
    told = (replace(each, values=tuple(map(_known, each.values))) for each in job.settings)
    return replace(job, facts=tuple(facts), settings=tuple(told))


def _known(value: Value | Unknown) -> Value | Unknown:
    return _DUMMY if re.fullmatch(r"-\d+", str(value)) else value


def config(
    launch: Started, given: CommandOptions, texts: Mapping[str, str], folder: Folder
) -> tuple[tuple[Table | None, str, str | None], tuple[Unread, ...]]:
    """The config that a command names, its path and, if it is a file, its text; and why it is not read."""
    name = next((name for name in CONFIGS if given.given(name) and given.values[name].values), None)
    if name is None:
        return (None, "", None), ()
    word = given.place(name)
    there = named_file(launch, word.pieces, texts, folder)
    if there is None:
        return (None, "", None), (missing("DeepSpeed config", word),)
    try:
        return (document(there.source), there.path, there.text), ()
    except NotADocument as error:
        return (None, there.path, there.text), (Unread.because(error, *error.place),)


def said(path: str, table: Table) -> DeepSpeed:
    """Facts that Megatron leaves to the DeepSpeed config: stage of ZeRO and precision."""
    facts = {fact.name: fact for fact in settings.facts(path, table)}
    answers = [(fact.value, Word((_piece(fact),))) for fact in (facts["zero"], facts["precision"])]
    return DeepSpeed(answers[0], answers[1])


def _piece(fact: Fact) -> Piece:
    return Piece("", fact.path, fact.line, fact.column)


def _only_there(facts: list[Fact], path: str, table: Table) -> list[Fact]:
    """Facts that the command does not have and the config has."""
    known = {fact.name for fact in facts}
    return [
        fact
        for fact in settings.facts(path, table)
        if fact.name not in known and fact.name in ("micro_batch", "global_batch", "microbatches")
    ]
