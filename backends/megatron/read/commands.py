"""A launched command -> whether it takes Megatron-LM's options, and the facts that it states."""

from collections.abc import Iterator

from ....reading.bash.values import Word
from ....reading.command_options import CommandOptions, spelled
from ....reading.facts import Fact, Unknown, Value
from ....reading.launchers import Started
from ..option_rows import ROWS
from . import arguments, spelling
from .arguments import DeepSpeed

#: What pretrain.sh starts before training that begins with given weights.
CONVERTER = "convert.py"
NO_CONFIG = DeepSpeed(None, None)


def given_to(launch: Started) -> CommandOptions:
    """The arguments of the training program, under today's names."""
    return spelled(launch.options(spelling.SWITCHES), ROWS.today)


def recognised(launch: Started) -> bool:
    """Whether the program takes Megatron's options, and trains: convert.py makes its first checkpoint."""
    if launch.entry is not None and launch.entry.tail.endswith(f"/{CONVERTER}"):
        return False
    names = given_to(launch).values.keys()
    return len(names & spelling.TELLING) >= 2 and spelling.TRAINERS not in names


def job_facts(launch: Started, deepspeed: DeepSpeed = NO_CONFIG) -> list[Fact]:
    """Everything that the command says, the launcher's part first."""
    given = given_to(launch)
    found: list[arguments.Found]
    found = [(name, value, place) for name, (value, place) in launch.shape.items()]
    found += arguments.facts(given, deepspeed)
    if launch.options(spelling.SWITCHES).given(spelling.FIRST_DEGREE):
        found = [_no_more_than_processes(launch, *item) for item in found]
    if launch.launcher == "swift":
        found = [_not_megatrons(given, *item) for item in found]
    values = {name: value for name, value, _ in found}
    found.append(("dp", arguments.replicas(values), given.command))
    return list(_placed(found))


def _not_megatrons(
    given: CommandOptions, name: str, value: Value | Unknown, place: Word
) -> arguments.Found:
    """ms-swift has other defaults for these, and takes the precision from the model."""
    if name in spelling.SWIFTS_OWN and place is given.command:
        value = Unknown("ms-swift has a default of its own for it")
    return name, value, place


def _no_more_than_processes(
    launch: Started, name: str, value: Value | Unknown, place: Word
) -> arguments.Found:
    """Megatron-LM 1 takes the smaller of the degree and the number of processes (arguments.py, v1.1:71)."""
    processes = launch.shape["gpus"][0]
    if name != "tp" or isinstance(value, Unknown):
        return name, value, place
    if isinstance(processes, Unknown):
        if launch.launcher == "none" and not launch.launch.wrappers:
            return (
                name,
                Unknown(
                    "the degree is no larger than the processes, and their number is not known"
                ),
                place,
            )
        return name, value, place
    return name, min(int(value), processes), place


def _placed(found: list[tuple[str, Value | Unknown, Word]]) -> Iterator[Fact]:
    for name, value, place in found:
        yield Fact(name, value, place.path, place.line, place.column)
