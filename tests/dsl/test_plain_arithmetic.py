"""Conditions on plain numbers: the answers are numpy's, and numpy is not loaded for them."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from parc.dsl.expression import (
    ARRAYS,
    Call,
    Const,
    Expression,
    Member,
    Name,
    evaluate,
    evaluate_number,
)

ARITHMETIC = ("+", "-", "*", "/", "//", "%", "**", "min", "max")
ROUNDING = ("neg", "ceil", "floor", "log2")
ORDER = ("==", "!=", "<", "<=", ">", ">=")


def number(random_: random.Random, depth: int) -> Expression:
    if depth == 0 or random_.random() < 0.2:
        leaves: list[Expression] = [Name("x"), Name("y")]
        constants = [Const(value) for value in (0.0, 1.0, -2.5, 7.0, 100.0, 0.5)]
        return random_.choice([*leaves, random_.choice(constants)])
    op = random_.choice([*ARITHMETIC, *ROUNDING])
    count = 1 if op in ROUNDING else 2
    below = 0 if op == "**" else depth - 1
    return Call(op, tuple(number(random_, below) for _ in range(count)))


def condition(random_: random.Random, depth: int) -> Expression:
    if depth > 2 and random_.random() < 0.5:
        op = random_.choice(["and", "or", "not"])
        count = 1 if op == "not" else 2
        return Call(op, tuple(condition(random_, depth - 1) for _ in range(count)))
    if random_.random() < 0.1:
        return Member(number(random_, depth - 1), (1.0, 2.0, 8.0), random_.random() < 0.5)
    op = random_.choice(ORDER)
    return Call(op, (number(random_, depth - 1), number(random_, depth - 1)))


def test_every_operation_is_drawn() -> None:
    assert {*ARITHMETIC, *ROUNDING, *ORDER, "and", "or", "not"} == {*ARRAYS, "min", "max"}


def test_plain_numbers_have_the_answers_of_arrays() -> None:
    random_ = random.Random(7)
    answers = []
    with np.errstate(all="ignore"):
        for _ in range(3000):
            expression = condition(random_, 4)
            values = {"x": float(random_.randint(-3, 9)), "y": random_.randint(0, 16) / 4}
            wanted = evaluate(expression, {name: np.float64(at) for name, at in values.items()})
            answers.append(bool(evaluate_number(expression, values)))
            assert answers[-1] == bool(wanted), (expression, values)
    assert 500 < sum(answers) < 2500


@pytest.mark.parametrize(
    ("op", "left", "right", "wanted"),
    [
        ("//", 7, 0, 0),
        ("%", 7, 0, 0),
        ("/", -1.0, 0.0, -math.inf),
        ("**", 10.0, 400.0, math.inf),
        ("**", -10.0, 401.0, -math.inf),
        ("**", 0.0, -1.0, math.inf),
    ],
)
def test_what_python_raises_on_has_a_value(
    op: str, left: float, right: float, wanted: float
) -> None:
    assert evaluate_number(Call(op, (Name("x"), Const(right))), {"x": left}) == wanted
