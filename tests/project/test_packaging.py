"""The tree: every folder with code is packaged, imports go one way, and light commands stay light."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.paths import ROOT

SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
#: Package -> room; setuptools finds the packages inside the rooms.
ROOMS: dict[str, str] = SETUPTOOLS["package-dir"]
#: Each room with those it may import; `cli` is the package `parc` itself.
ALLOWED = {
    "dsl": {"dsl"},
    "compiler": {"dsl", "compiler"},
    "reading": {"dsl", "reading"},
    "backends": {"dsl", "compiler", "reading", "backends"},
    "calibrate": {"dsl", "compiler", "backends", "calibrate"},
    "templates": {"templates"},
    "lint": {"dsl", "compiler", "reading", "backends", "lint"},
    "lsp": {"dsl", "compiler", "backends", "lsp"},
    "report": {"dsl", "compiler", "backends", "api", "printing", "report"},
    "serve": {"dsl", "compiler", "backends", "lsp", "serve"},
    "smoke": {"dsl", "compiler", "backends", "smoke"},
}
#: What a backend may know of the compiler: its data, not how it searches.
SOLVING = {"search"}


def python_files() -> list[Path]:
    return [path for room in ROOMS.values() for path in sorted((ROOT / room).rglob("*.py"))]


def test_every_room_with_code_is_packaged() -> None:
    rooms = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert rooms == {*ROOMS.values(), "tests", "benchmarks", "docs", "editors"}
    assert {path.parent for path in python_files()} == {
        path.parent for path in python_files() if path.name == "__init__.py"
    } | {ROOT / "smoke" / "on_cpu"}
    assert "packages" not in SETUPTOOLS


def imported(path: Path) -> list[str]:
    """Full names of the modules that a file imports, relative ones resolved."""
    room, *inner = path.parent.relative_to(ROOT).parts
    package = ".".join([next(name for name, place in ROOMS.items() if place == room), *inner])
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = (
                package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            )
            module = ".".join([*base, *([node.module] if node.module else [])])
            names += [module, *(f"{module}.{alias.name}" for alias in node.names)]
    return names


@pytest.mark.parametrize("path", python_files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path: Path) -> None:
    room = path.relative_to(ROOT).parts[0]
    if room == "cli":
        return
    parts = [name.split(".") for name in imported(path) if name.split(".")[0] == "parc"]
    rooms = {part[1] for part in parts if len(part) > 1}
    assert rooms <= ALLOWED[room], f"{path.relative_to(ROOT)} imports {rooms - ALLOWED[room]}"
    if room == "backends":
        used = {part[2] for part in parts if part[1] == "compiler" and len(part) > 2}
        assert not used & SOLVING, f"{path.relative_to(ROOT)} imports the solver's {used & SOLVING}"


def test_the_solver_is_imported_where_it_solves() -> None:
    """OR-Tools takes half a second to load, so no module loads it as it is imported itself."""
    at_load = [
        str(path.relative_to(ROOT))
        for path in python_files()
        for node in top_level(ast.parse(path.read_text()))
        if any(name.startswith("ortools") for name in names_of(node))
    ]
    assert at_load == []
    assert not [
        path for path in python_files() if path.parent.name != "search" and uses_ortools(path)
    ]


def top_level(tree: ast.Module) -> list[ast.stmt]:
    return [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]


def names_of(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []


def uses_ortools(path: Path) -> bool:
    return any(name.startswith("ortools") for name in imported(path))


def loaded(code: str) -> set[str]:
    """Top-level modules that a fresh interpreter holds after running `code`."""
    report = "; import sys; print('\\n'.join(sys.modules))"
    result = subprocess.run(
        [sys.executable, "-c", code + report], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return {name.split(".")[0] for name in result.stdout.splitlines()}


@pytest.mark.parametrize(
    ("code", "unwanted"),
    [
        ("import parc", {"ortools", "numpy", "pydantic", "lark", "rich", "black"}),
        ("import parc; parc.load('examples/gpt_125m.par')", {"ortools", "black"}),
        (
            "from parc.__main__ import main; main(['check', 'examples/llama3_70b.par'])",
            {"ortools", "black", "numpy", "jinja2", "rich", "yaml", "tree_sitter", "argcomplete"},
        ),
        (
            "from parc.__main__ import main; main(['fmt', '--check', 'examples/gpt_125m.par'])",
            {"ortools", "black", "numpy", "pydantic"},
        ),
        (
            "from parc.__main__ import main; main(['lint', 'tests/golden/gpt_125m/megatron/pretrain.sh'])",
            {"ortools", "black", "numpy", "jinja2", "rich", "lark", "argcomplete"},
        ),
        ("from parc.__main__ import main; main(['std'])", {"ortools", "black"}),
        (
            "from parc.__main__ import main; main(['rules'])",
            {"ortools", "black", "numpy", "lark", "jinja2", "rich", "yaml"},
        ),
        (
            "from parc.__main__ import main; main(['estimate', 'examples/gpt_125m.par', '--layout=tp=2'])",
            {"ortools", "black", "jinja2", "yaml", "tree_sitter", "argcomplete"},
        ),
        (
            "from parc.__main__ import main; main(['plan', 'examples/gpt_125m.par'])",
            {"black", "jinja2", "yaml", "tree_sitter", "starlette"},
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_light_work_loads_little(code: str, unwanted: set[str]) -> None:
    assert not loaded(code) & unwanted


def test_a_job_with_one_target_loads_no_other() -> None:
    code = (
        "from parc.checking import checked; print(checked('examples/gpt_125m.par').code); "
        "from parc.backends import BACKENDS; import sys; "
        "print([name for name in BACKENDS if f'parc.backends.{name}' in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    targets = re.findall(r"^target (\w+)", (ROOT / "examples/gpt_125m.par").read_text(), re.M)
    code_, loaded_ = result.stdout.splitlines()
    assert (code_, sorted(ast.literal_eval(loaded_))) == ("0", sorted(targets))
    assert len(targets) < 3


def test_the_version_is_that_of_the_distribution() -> None:
    import parc

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert parc.__version__ == project["version"]
    assert project["version"] in (ROOT / "CHANGELOG.md").read_text()
