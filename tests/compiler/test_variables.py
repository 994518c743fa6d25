"""The table of variables agrees with plans, with the language and with itself."""

from __future__ import annotations

import pytest

from parc.compiler.plan import Layout
from parc.compiler.variables import (
    BRANCHING,
    DECISIONS,
    DERIVATIONS,
    DERIVED,
    LARGEST,
    NEUTRAL,
    ORDER,
)
from parc.dsl.expression import VALUES, VARIABLES


def test_every_decision_is_a_field_of_a_layout_and_a_name_of_the_language() -> None:
    assert set(ORDER) <= set(Layout.model_fields)
    assert set(ORDER) <= set(VARIABLES)


def test_every_name_of_the_language_is_in_the_table_once() -> None:
    names = [each.name for each in (*DECISIONS, *DERIVATIONS)]
    assert len(names) == len(set(names))
    assert set(VARIABLES) <= set(names)


@pytest.mark.parametrize("name", NEUTRAL)
def test_a_neutral_value_is_legal(name: str) -> None:
    assert NEUTRAL[name] == Layout.model_fields[name].default
    assert NEUTRAL[name] <= LARGEST[name]
    assert NEUTRAL[name] in VALUES.get(name, {"": NEUTRAL[name]}).values()


def test_branching_takes_each_variable_and_rank_once() -> None:
    ranks = [each.branch for each in DECISIONS if each.branch is not None]
    assert sorted(ranks) == list(range(len(BRANCHING)))
    assert len(set(BRANCHING)) == len(BRANCHING)


@pytest.mark.parametrize("name", DERIVED)
def test_a_derived_variable_follows_from_earlier_ones(name: str) -> None:
    earlier = {*ORDER, *list(DERIVED)[: list(DERIVED).index(name)]}
    assert set(DERIVED[name].of) <= earlier
