"""A Megatron-LM launch script -> facts: what its options say, else Megatron-LM's defaults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ....compiler.plan import Plan
from ....reading.bash.script import read_script
from ....reading.bash.values import Word
from ....reading.command_options import Options, spelled
from ....reading.facts import Fact, LaunchConfig, Unknown, Unread, Value
from ....reading.launchers import Started, started
from ...facts import in_plan_words, plan_facts
from . import arguments, spelling
from .arguments import DeepSpeed

NO_CONFIG = DeepSpeed(None, None)
#: What a plan of this backend says no more of than its defaults.
_NOT_EMITTED = ("ulysses", "rampup")


def read(files: Mapping[str, str]) -> LaunchConfig:
    """The facts of every script among `files` that starts Megatron; the others are unread."""
    found: list[Fact] = []
    unread: list[Unread] = []
    for path, text in files.items():
        launches = [started(launch) for launch in read_script(path, text).launches]
        mine = [launch for launch in launches if recognised(launch)]
        if mine:
            found += job_facts(mine[-1])
        else:
            unread.append(Unread("it does not start Megatron", path, 1))
    told = [fact for fact in in_plan_words(found) if fact.name not in _NOT_EMITTED]
    if told and not any(fact.name == "experts" for fact in told):
        told.append(Fact("experts", 0, told[0].path, told[0].line, told[0].column))
    return LaunchConfig("megatron", tuple(told), tuple(unread))


def given_to(launch: Started) -> Options:
    """The arguments of the training program, under today's names."""
    return spelled(launch.options(spelling.SWITCHES), spelling.NAMES)


def recognised(launch: Started) -> bool:
    """Whether the program takes Megatron's options."""
    names = given_to(launch).values.keys()
    return len(names & spelling.TELLING) >= 2


def job_facts(launch: Started, deepspeed: DeepSpeed = NO_CONFIG) -> list[Fact]:
    """Everything that the command says, the launcher's part first."""
    given = given_to(launch)
    found: list[arguments.Found]
    found = [(name, value, place) for name, (value, place) in launch.shape.items()]
    found += arguments.facts(given, deepspeed)
    if launch.launcher == "swift":
        found = [_not_megatrons(given, *item) for item in found]
    values = {name: value for name, value, _ in found}
    found.append(("dp", arguments.replicas(values), given.command))
    return list(_placed(found))


def _not_megatrons(
    given: Options, name: str, value: Value | Unknown, place: Word
) -> arguments.Found:
    """ms-swift has other defaults for these, and takes the precision from the model."""
    if name in spelling.SWIFTS_OWN and place is given.command:
        value = Unknown("ms-swift has a default of its own for it")
    return name, value, place


def _placed(found: list[tuple[str, Value | Unknown, Word]]) -> Iterator[Fact]:
    for name, value, place in found:
        yield Fact(name, value, place.path, place.line, place.column)


def facts(plan: Plan) -> dict[str, Value]:
    """What `read(emit(plan))` must give back."""
    layout, model = plan.layout, plan.job.model
    found = plan_facts(plan) | {
        "experts": model.experts,
        "sequence_parallel": layout.tp > 1,
        "distributed_optimizer": layout.zero >= 1,
    }
    return found | ({"etp": layout.etp} if model.moe else {})
