"""Long options of a launched command: values, places, and torchrun's counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from parc.reading.bash.values import Word
from parc.reading.command_options import CommandOptions, launcher_options, options
from parc.reading.facts import Unknown
from tests.support.bash_launches import command


def of(
    arguments: str, read: Callable[[Word, Sequence[Word]], CommandOptions] = options
) -> CommandOptions:
    words = command(f"torchrun {arguments}")
    return read(words[0], words[1:])


def test_values_stand_behind_a_blank_or_an_equals_sign() -> None:
    given = of("--a 1 --b=2 --c --d x y")
    assert [given.text(name) for name in ("--a", "--b", "--c", "--d")] == ["1", "2", None, "x"]
    assert given.number("--a") == 1 and isinstance(given.number("--d"), Unknown)
    assert given.given("--c") and not given.given("--e") and given.number("--e") is None


def test_the_last_one_counts_and_has_its_place() -> None:
    given = of("--a 1 \\\n  --a 3")
    assert given.number("--a") == 3
    place = given.place("--missing", "--a")
    assert (place.text, place.line) == ("3", 2)
    assert given.place("--missing").text == "torchrun"


def test_counts_of_torchrun_default_to_one_and_take_underscores() -> None:
    given = of("--nproc_per_node=8 --node-rank", launcher_options)
    assert given.count("--nproc-per-node") == 8 and given.count("--nnodes") == 1
    assert isinstance(given.count("--node-rank"), Unknown)
    unset = of('--nnodes "$SOMEWHERE_ELSE"', launcher_options)
    assert isinstance(unset.count("--nnodes"), Unknown)
