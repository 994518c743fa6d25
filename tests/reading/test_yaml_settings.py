"""YAML -> values with their places; what has no end is refused."""

from __future__ import annotations

import time

import pytest
import yaml

from parc.reading.yaml_settings import yaml_scalars

TEXT = """# comment
one: 1
two: &anchor {inner: 'yes', list: [a, -2.5, ~]}
three: *anchor
one: 0x10
text: |
  line
off: off
"""


def test_values_and_places() -> None:
    found = yaml_scalars("a.yaml", TEXT)
    values = {name: scalar.value for name, scalar in found.items()}
    assert values == {
        "one": "0x10", "two.inner": "yes", "two.list.0": "a", "two.list.1": "-2.5", "two.list.2": None,
        "three.inner": "yes", "three.list.0": "a", "three.list.1": "-2.5", "three.list.2": None,
        "text": "line\n", "off": False,
    }  # fmt: skip
    assert (found["two.inner"].line, found["two.inner"].column) == (3, 22)
    told = found["two.inner"].setting()
    assert (told.scope, told.values, told.length) == ("yaml", ("yes",), 5)
    assert found["two.list.2"].setting().values == ("null",)


@pytest.mark.parametrize("text", ["", "- a\n- b\n", "word", "# only a comment\n"])
def test_what_is_no_mapping_says_nothing(text: str) -> None:
    assert yaml_scalars("a.yaml", text) == {}


LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1,", "line"),
        ("a: b: c", "line 1"),
        ("a: *none", "undefined alias"),
        ("[" * 50_000, ""),
        ("x: " + "{a: " * 5_000, ""),
        (LAUGHS, "over 50,000 keys and values, aliases followed"),
        ("a: &a\n  b: *a\n", "line 1: an anchor holds itself"),
        ("x" * 300_000, "at most"),
    ],
    ids=["open", "two", "alias", "lists", "tables", "laughs", "itself", "long"],
)
def test_hostile_texts_end(text: str, message: str) -> None:
    started = time.process_time()
    try:
        found = yaml_scalars("a.yaml", text)
    except ValueError as error:
        assert message in str(error)
        assert not isinstance(error, yaml.YAMLError)
    else:
        assert not message and len(found) <= 1
    assert time.process_time() - started < 5
