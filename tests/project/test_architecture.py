"""docs/architecture.md names what exists, the imports that are checked, and every crowded folder."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

import parc
from tests.project.test_packaging import ALLOWED
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text()
NAMED = sorted(set(re.findall(r"`((?:\w+/)+\w+\.\w+(?:\.j2)?)(?::(\w+))?`", PAGE)))
#: More modules than this side by side need a reason on the page.
CROWDED = 15


@pytest.mark.parametrize(("path", "name"), NAMED, ids=[f"{path}:{name}" for path, name in NAMED])
def test_what_is_named_is_there(path: str, name: str) -> None:
    text = (ROOT / path).read_text()
    assert not name or name in defined(ast.parse(text))


def defined(module: ast.Module) -> set[str]:
    """Names of a module's functions, classes and assignments."""
    names = {node.name for node in module.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    targets = [node.targets for node in module.body if isinstance(node, ast.Assign)]
    return names | {each.id for found in targets for each in found if isinstance(each, ast.Name)}


def test_rooms_and_their_imports_are_those_that_are_checked() -> None:
    rows = re.findall(r"^\| `(\w+)/` \| `[\w.]+` \|.*\| ([a-z, ]*)\|$", PAGE, re.MULTILINE)
    stated = {room: {room, *re.findall(r"\w+", imports)} for room, imports in rows}
    assert stated.pop("cli") == {"cli", "all"}
    assert stated == ALLOWED


def test_a_fact_is_underlined_where_its_text_was_written(tmp_path: Path) -> None:
    """The example of the way of a fact to its finding."""
    script = tmp_path / "train.sh"
    script.write_text(
        "TP=${TP:-6}\ntorchrun --nproc-per-node 6 pretrain_gpt.py --num-layers 8 --hidden-size 4096 \\\n"
        "    --num-attention-heads 64 --tensor-model-parallel-size $TP\n"
    )
    (found,) = (each for each in parc.lint([script]) if each.code == "PAR111")
    assert found.message == "heads 64 is not a multiple of tp 6"
    assert found.span is not None and (found.span.line, found.span.column) == (1, len("TP=${TP:-6"))


def test_crowded_folders_are_explained() -> None:
    rooms = [path.parent for path in ROOT.glob("*/__init__.py")]
    modules = (path for room in rooms for path in room.rglob("*.py") if "golden" not in path.parts)
    count = Counter(
        str(path.parent.relative_to(ROOT)) for path in modules if path.stem != "__init__"
    )
    section = PAGE.partition("## Folders with many modules")[2]
    explained = re.findall(r"^- `([\w/]+)`: ", section, re.MULTILINE)
    assert set(explained) == {folder for folder, modules in count.items() if modules > CROWDED}
