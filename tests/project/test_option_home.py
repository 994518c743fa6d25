"""An option of Megatron-LM has its home in the framework's package: elsewhere one module at most names it."""

from __future__ import annotations

import ast
from collections import defaultdict

from parc.lint.releases.history import history
from tests.project.test_packaging import ROOMS
from tests.support.paths import ROOT

#: Other frameworks' packages have options of their own, some with the same names.
PACKAGES = "backends/"
#: Names that sbatch and parc's own command have, too.
SHARED = {"--job-name", "--spec"}
KNOWN = history("megatron").names - SHARED


def test_an_option_is_named_in_one_module_outside_its_package() -> None:
    places: dict[str, set[str]] = defaultdict(set)
    for folder in ROOMS.values():
        for path in (ROOT / folder).rglob("*.py"):
            name = path.relative_to(ROOT).as_posix()
            if not name.startswith(PACKAGES):
                for option in named(path.read_text()):
                    places[option].add(name)
    assert "--rampup-batch-size" in places, "the search has gone blind"
    assert {option: files for option, files in places.items() if len(files) > 1} == {}


def named(text: str) -> set[str]:
    """Options that strings of a module name, alone or in a list of words; texts for readers may show them."""
    strings = (
        node.value.split()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    lists = (words for words in strings if all(word.startswith("--") for word in words))
    return {word for words in lists for word in words if word in KNOWN}
