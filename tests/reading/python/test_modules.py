"""Python modules followed over their syntax tree: what an object of configuration holds at the end."""

from __future__ import annotations

import pytest

from parc.reading.facts import Unknown
from parc.reading.python.module import made_by
from parc.reading.python.values import PythonValue, Tree


def held(text: str, name: str = "") -> dict[str, PythonValue]:
    """What the last object of class C holds that the program, or a function of it, makes."""
    made = next(each for each in made_by(text) if each.name == name)
    tree = [tree for tree in made.trees if tree.head == "C"][-1]
    return {name: placed.value for name, placed in tree.values.items()}


KNOWN = [
    ("c = m.C(a=2 * 4)", 8),
    ("n = 3\nc = m.C()\nc.a = n + 1", 4),
    ("def f(a=5):\n    return m.C(a=a)\nc = f()", 5),
    ("def f(*, a):\n    return m.C(a=a)\nc = f(a=6)", 6),
    ("c = m.C(a=1)\nif True:\n    c.a = 2", 2),
    (
        "c = m.C()\nmode = 'LoRA'\nif mode is None or mode.lower() == 'no':\n    c.a = 1\nelse:\n    c.a = 2",
        2,
    ),
    ("c = m.C()\nif mode in ['x']:\n    c.a = 3\nelse:\n    c.a = 3", 3),
    ("c = m.C()\nif mode:\n    raise ValueError\nc.a = 4", 4),
    ("given = {'a': 7}\nc = m.C(**given)", 7),
    ("c = run.Config(m.C, a=9)", 9),
    ("if __name__ == '__main__':\n    c = m.C(a=max(1, 2))", 2),
    ("p.add_argument('--tp-size', default=4)\nargs = p.parse_args()\nc = m.C(a=args.tp_size)", 4),
    ("a, b = 1, 2\nc = m.C(a=b)", 2),
    ("c = m.C(a=1)\nc.a += 1", 2),
    ("with open('x') as f:\n    c = m.C(a=f'{1}' if False else 3)", 3),
    ("c = m.C(a=5)\nprint(c)", 5),
]
UNKNOWN = [
    ("c = m.C()\nif mode:\n    c.a = 1", "branch"),
    ("c = m.C(a=1)\nfor i in range(3):\n    c.a = i", "branch"),
    ("c = m.C(a=1)\nother(c)", "`other` may change it"),
    ("c = m.C(a=int(os.environ['N']))", "computed"),
    (
        "p.add_argument('--n', required=True)\nargs = p.parse_args()\nc = m.C(a=args.n)",
        "command line",
    ),
    ("c = m.C(a=1)\ntry:\n    c.a = 2\nexcept E:\n    pass", "branch"),
    ("c = m.C(a=1 // 0)", "computed"),
    ("def f(a):\n    return f(a)\nc = m.C(a=f(1))", "not followed"),
]


@pytest.mark.parametrize("text, value", KNOWN)
def test_what_decided_code_leaves(text: str, value: PythonValue) -> None:
    assert held(text)["a"] == value


@pytest.mark.parametrize("text, reason", UNKNOWN)
def test_what_the_text_does_not_decide_is_unknown(text: str, reason: str) -> None:
    value = held(text)["a"]
    assert isinstance(value, Unknown) and reason in value.reason


def test_the_place_is_where_a_value_is_written() -> None:
    (made,) = (each for each in made_by("N = 8\nc = m.C(a=N)\n") if each.name == "")
    placed = made.trees[0].values["a"]
    assert (placed.line, placed.column) == (1, 5)


def test_functions_are_followed_for_their_defaults() -> None:
    text = "def one(n=2):\n    c = m.C(a=n)\n    return c\n"
    assert held(text, "one")["a"] == 2


@pytest.mark.parametrize("text", ["def (", "x = " + "(" * 500 + ")" * 500, "\0"])
def test_no_python_is_refused(text: str) -> None:
    with pytest.raises(SyntaxError):
        list(made_by(text))


def test_a_reading_is_bounded() -> None:
    doubling = "".join(f"def f{n}():\n    f{n - 1}()\n    f{n - 1}()\n" for n in range(1, 30))
    with pytest.raises(ValueError, match="more than"):
        list(made_by(f"def f0():\n    x = 1\n{doubling}" + "x = 1\n" * 30_000))
    with pytest.raises(ValueError, match="at most 200,000 are read"):
        list(made_by("#" * 200_001))
    objects = "".join(f"o{n} = m.C()\n" for n in range(1000))
    with pytest.raises(ValueError, match="too many branches"):
        list(made_by(objects + "if asked():\n    o1.a = 1\n" * 1000))


def test_an_object_that_holds_itself_ends() -> None:
    made = next(iter(made_by("c = m.C()\nc.me = c\nother(c)\n")))
    assert [tree.head for tree in made.trees[0].below()] == ["C"]
    assert isinstance(made.trees[0], Tree)


#: Texts of 60 lines in which each line holds the last one twice: what they stand for has 2^60 parts.
SHARED = {
    "lists": "x0 = [1]\n" + "".join(f"x{n + 1} = [x{n}, x{n}]\n" for n in range(60)),
    "tables": "x0 = {'a': 1}\n"
    + "".join(f"x{n + 1} = {{'a': x{n}, 'b': x{n}}}\n" for n in range(60)),
    "objects": "x0 = m.C()\n" + "".join(f"x{n + 1} = m.C(a=x{n}, b=x{n})\n" for n in range(60)),
    "itself": "x60 = {}\nx60['a'] = x60\n",
    "alike": "def made():\n    x0 = [1]\n"
    + "".join(f"    x{n + 1} = [x{n}, x{n}]\n" for n in range(60))
    + "    return x60\nif asked():\n    x60 = made()\nelse:\n    x60 = made()\n"
    + "x60 = made() if asked() else made()\n",
    "choices": "x60 = " + "a and (" * 45 + "b" + ")" * 45 + "\n",
}


@pytest.mark.parametrize("kind", SHARED)
def test_what_others_hold_is_visited_once(kind: str) -> None:
    text = SHARED[kind] + "last = m.C(held=x60, again=x60)\nother(last)\n"
    made = next(iter(made_by(text)))
    last = next(tree for tree in made.trees if "held" in tree.values)
    below = list(last.below())
    assert len(below) == len({id(each) for each in below}) <= 62


def test_an_expression_that_is_asked_for_twice_within_another_ends() -> None:
    text = "d = {'a': 'a'}\nx = " + "d.get(" * 45 + "'a'" + ")" * 45 + "\n"
    with pytest.raises(ValueError, match="more than 300,000 expressions"):
        list(made_by(text))
