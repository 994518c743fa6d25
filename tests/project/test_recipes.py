"""CONTRIBUTING.md is followed to the letter: its edits made in a copy of the tree, its commands run there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.project.test_packaging import ROOMS
from tests.support.paths import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text()
RECIPES = dict(
    re.findall(r"^## Adding an? (?:decision )?(\w+)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
)
EDIT = re.compile(
    r"^(?P<how>In|At the end of|New file) `(?P<path>[^`]+)`(?:, below `(?P<line>[^\n]+)`)?:\n\n"
    r"```\w*\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Tree:
    """A copy of the tree, and a folder from which its packages are imported instead of the installed ones."""

    root: Path
    site: Path

    def edit(self, how: str, path: str, line: str | None, text: str) -> None:
        file = self.root / path
        old = "" if how == "New file" else file.read_text()
        place = len(old)
        if line is not None:
            assert line in old, f"{path} has no line with {line}"
            place = old.index("\n", old.index(line)) + 1
        file.write_text(old[:place] + text + old[place:])

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        tools = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
        return subprocess.run(
            ["bash", "-c", command],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": str(self.site), "PATH": tools},
            capture_output=True,
            text=True,
        )

    def follow(self, recipe: str) -> str:
        """Make the edits of a recipe, run its commands, each to exit status 0; what the last one printed."""
        for edit in EDIT.finditer(recipe):
            self.edit(edit["how"], edit["path"], edit["line"], edit["text"])
        printed = ""
        for command in "".join(COMMANDS.findall(recipe)).splitlines():
            done = self.run(command)
            assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
            printed = done.stdout
        return printed


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    unwanted = shutil.ignore_patterns(".*", "__pycache__", "build", "out", "*.egg-info", "golden")
    copy = Tree(tmp_path / "tree", tmp_path / "site")
    shutil.copytree(ROOT, copy.root, ignore=unwanted)
    package = copy.site / "parc"
    package.mkdir(parents=True)
    for item in (copy.root / ROOMS["parc"]).iterdir():
        (package / item.name).symlink_to(item)
    for name, folder in ROOMS.items():
        if name != "parc" and not (package / name.removeprefix("parc.")).exists():
            (package / name.removeprefix("parc.")).symlink_to(copy.root / folder)
    return copy


def test_every_recipe_is_followed_here() -> None:
    assert set(RECIPES) == {"GPU", "model", "option", "constraint", "rule", "variable", "backend"}


def test_a_gpu(tree: Tree) -> None:
    assert "A30" in tree.follow(RECIPES["GPU"])


def test_a_model(tree: Tree) -> None:
    assert "3.43 B parameters" in tree.follow(RECIPES["model"])


def test_an_option(tree: Tree) -> None:
    """Before the row the import hands the option back."""
    script = "torchrun pretrain_gpt.py --num-layers 2 --micro-batch-size 1 --log-energy\n"
    (tree.root / "train.sh").write_text(script)
    assert "--log-energy" in tree.run("parc import train.sh").stderr
    printed = tree.follow(RECIPES["option"])
    assert "model train" in printed and "--log-energy" not in printed


def test_a_constraint(tree: Tree) -> None:
    said = "error[PAR312]: torch_autocast.enabled true and fp16.enabled true exclude each other"
    assert said in tree.follow(RECIPES["constraint"])


def test_a_rule(tree: Tree) -> None:
    assert tree.follow(RECIPES["rule"]).startswith("# PAR899 traced-nccl")
    (tree.root / "train.sh").write_text("export NCCL_DEBUG=TRACE\ntorchrun train.py\n")
    found = tree.run("parc lint train.sh --hints --format concise")
    assert "train.sh:1:8: info PAR899 traced-nccl" in found.stdout


def test_a_variable(tree: Tree) -> None:
    printed = tree.follow(RECIPES["variable"])
    assert json.loads(printed)["plans"][0]["layout"]["prefetch"] == 2
    assert (
        "| `prefetch` | whole number | layers" in (tree.root / "docs" / "language.md").read_text()
    )


def test_the_places_of_a_variable_are_all_that_know_it() -> None:
    """The list under the recipe, and every module of the product with the word `hpz`."""
    listed = set(re.findall(r"^(\w+/[\w/]+\.py) ", RECIPES["variable"], re.MULTILINE))
    product = {path for folder in ROOMS.values() for path in (ROOT / folder).rglob("*.py")}
    known = {
        str(path.relative_to(ROOT)) for path in product if re.search(r"\bhpz\b", path.read_text())
    }
    assert listed == known


def test_the_backend_recipe_is_a_test_of_its_own() -> None:
    assert "(docs/backends.md)" in RECIPES["backend"]


def test_checks_before_a_commit_are_those_of_make_check() -> None:
    recipe = (ROOT / "Makefile").read_text().partition("\ncheck:")[2].partition("\n\n")[0]
    asked = re.findall(r"\$\(BIN\)/(.+?)(?: --check)?(?: \.)?$", recipe, re.MULTILINE)
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    assert re.findall(r"entry: \.venv/bin/(.+)", hooks) == asked
