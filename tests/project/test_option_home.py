"""An option has its home in its framework's package: elsewhere one module at most names it."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping
from functools import cache

import pytest

from parc.backends.huggingface.option_rows import ACCELERATE, option
from parc.lint.releases.history import history
from tests.project.test_packaging import ROOMS
from tests.support.paths import ROOT

#: Other frameworks' packages have options of their own, some with the same names.
PACKAGES = "backends/"
#: File -> why it names options beside the packages and the one module that judges them.
APART = {
    "dsl/evaluation/spellings.py": "words of other tools in a job, and the setting that each is here",
    "reading/programs.py": "options that tell the program of a command, before a package is asked",
}
#: Names that mean something else, too.
SHARED = {
    # sbatch and parc's own command have them.
    "--job-name", "--spec",
    # A mechanism of the cost model.
    "tensor_parallel",
    # Settings of parc's own language.
    "learning_rate", "weight_decay",
}  # fmt: skip


def _arguments() -> frozenset[str]:
    """The Trainer's arguments, as fields and as options; names of one word mean other things as well."""
    fields = {name.removeprefix("--") for name in history("transformers").names}
    return frozenset({word for name in fields if "_" in name for word in (name, option(name))})


#: Package -> its names: options, paths of keys, and keys of the top level that no word of English is.
KNOWN: Mapping[str, frozenset[str]] = {
    "megatron": history("megatron").names,
    "deepspeed": frozenset(name for name in history("deepspeed").names if {*"._"} & {*name}),
    "torchtitan": frozenset(name for name in history("torchtitan").names if "." in name),
    "huggingface": _arguments()
    | {name for row in ACCELERATE.rows for name in row.names if "_" in name},
}


@pytest.mark.parametrize("package", KNOWN)
def test_an_option_is_named_in_one_module_outside_its_package(package: str) -> None:
    places: dict[str, set[str]] = defaultdict(set)
    for name, words in words_of_modules().items():
        for word in words & (KNOWN[package] - SHARED):
            places[word].add(name)
    assert len(places) > 5, "the search has gone blind"
    assert {word: files for word, files in places.items() if len(files) > 1} == {}


def test_what_stands_apart_still_names_options() -> None:
    known = frozenset[str]().union(*KNOWN.values())
    for name in APART:
        assert words_of((ROOT / name).read_text()) & known, name


def words_of(text: str) -> set[str]:
    """Words of a module's strings that are a name or a list of options; texts for readers may show them."""
    strings = (
        node.value.split()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    lists = (
        words for words in strings if len(words) == 1 or all(word[:2] == "--" for word in words)
    )
    return {word for words in lists for word in words}


@cache
def words_of_modules() -> Mapping[str, set[str]]:
    return {
        name: words_of(path.read_text())
        for folder in ROOMS.values()
        for path in (ROOT / folder).rglob("*.py")
        if not (name := path.relative_to(ROOT).as_posix()).startswith(PACKAGES)
        and name not in APART
    }
