"""`accelerate launch` of a program that parc wrote, with its train.yaml and config.json -> its job."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ....reading.bash.script import Folder
from ....reading.command_options import spelled
from ....reading.facts import Fact, Kind, LaunchConfig, Unread
from ....reading.launchers import Started
from ....reading.named_files import missing, named_file
from ...huggingface.accelerate import accelerate
from ...huggingface.trainer_command import recipe
from .sizes import sizes

#: The option and the key of its YAML that parc's train.py has, and no other program of TRL.
OPTION, KEY = "--model-config", "token_type"
#: What accelerate does not have here stands at its neutral value.
_NEUTRAL = ("tp", "pp", "vpp", "cp", "ep")


def job(launch: Started, texts: Mapping[str, str], folder: Folder) -> LaunchConfig | None:
    """None for other programs that accelerate starts."""
    given = spelled(launch.options())
    if launch.launcher != "accelerate" or not given.given(OPTION):
        return None
    named = recipe(launch, texts, folder)
    place = given.values[OPTION].place
    if named is None or KEY not in named.scalars or not given.values[OPTION].values:
        return None
    found = named.job(launch, accelerate(launch, texts, folder))
    there = named_file(launch, given.values[OPTION].values[0].pieces, texts, folder)
    unread: tuple[Unread, ...] = ()
    model: list[Fact] = []
    files = dict(found.texts)
    if there is None or there.text is None:
        unread = (missing("model", place),)
    else:
        files[there.path] = there.text
        model = list(sizes(there.path, there.text))
    facts = {fact.name: fact for fact in (*found.facts, *model)}
    facts |= {fact.name: fact for fact in _derived(facts)}
    return replace(
        found,
        kind=Kind("accelerate", carrier="bash"),
        facts=tuple(facts.values()),
        unread=(*found.unread, *unread),
        framework="accelerate",
        texts=files,
    )


def _derived(facts: Mapping[str, Fact]) -> Iterator[Fact]:
    """The batch of a step and the replicas, which follow from the GPUs; what is not divided is 1."""
    gpus = facts.get("gpus")
    if gpus is None or not isinstance(gpus.value, int):
        return
    place = (gpus.path, gpus.line, gpus.column)
    for name in _NEUTRAL:
        if name not in facts:
            yield Fact(name, 1, *place)
    yield Fact("dp", gpus.value, *place)
    batch = gpus.value
    for name in ("micro_batch", "microbatches"):
        part = facts[name].value if name in facts else None
        if not isinstance(part, int):
            return
        batch *= part
    yield Fact("global_batch", batch, *place)
