"""One way leads to the disk: `parc.writing` opens what is written part by part; others do not write."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.paths import ROOT

PRODUCT = (
    "backends", "calibrate", "cli", "compiler", "dsl", "lint", "lsp", "reading", "report", "serve", "smoke",
)  # fmt: skip
#: The way in, module by module: whatever is written goes through `Folder`.
THE_WAY = {
    "cli/writing/durable.py", "cli/writing/exchange.py", "cli/writing/folder.py", "cli/writing/temporary.py",
}  # fmt: skip
#: Modules that write by themselves, and why no name of theirs is one that a repository can carry.
OTHERS = {
    "backends/smoke_text.py": "data of a smoke run, in its own folder",
    "backends/megatron/smoke.py": "data of a smoke run, in its own folder",
    "backends/torchtitan/smoke.py": "data of a smoke run, in its own folder",
    "calibrate/probe/local_run.py": "the probe's program, in a temporary folder",
    "calibrate/probe/program/timed_gpus.py": "runs where parc is not installed; appends to one plain file",
    "cli/commands/serve.py": "the page that forwards a browser, in a temporary folder of mode 0700",
    "cli/commands/smoke.py": "a target's folder in one that was opened and found empty",
    "cli/fault.py": "the report of a fault, by mkstemp",
    "cli/mcp/server.py": "texts of one call, in a temporary folder that their names cannot leave",
    "cli/printing/streams.py": "/dev/null",
    "cli/sweep/results.py": "through a number that `Folder` has opened, and a temporary file without a name",
    "smoke/guard.py": "removes a run's temporary folder, and locks of processes that it has ended",
    "smoke/smoke_run.py": "the files of a run, in a temporary folder or one that was found empty",
}
#: Functions of `os`, `shutil` and `tempfile`, and methods of paths, that change something on the disk.
CHANGING = {
    "write_text", "write_bytes", "unlink", "rmtree", "rmdir", "removedirs", "mkdir", "makedirs", "mkfifo",
    "mknod", "symlink_to", "hardlink_to", "symlink", "rename", "renames", "touch", "chmod", "fchmod",
    "lchmod", "chown", "truncate", "ftruncate", "pwrite", "utime", "setxattr", "mkdtemp", "mkstemp",
    "NamedTemporaryFile", "TemporaryFile", "TemporaryDirectory", "copyfile", "copytree", "copy2",
    "copyfileobj",
}  # fmt: skip
MODES = {
    "".join((way, kind)) for way in ("w", "a", "x", "r+", "w+", "a+") for kind in ("", "b", "t")
}
#: Names that texts, numbers and sets have too: of a module they are calls of these.
OF_MODULES = {
    "replace": ("os",),
    "remove": ("os",),
    "link": ("os",),
    "copy": ("shutil",),
    "move": ("shutil",),
    "open": ("os", "io", "gzip"),
}


def modules() -> Iterator[tuple[str, ast.Module]]:
    for room in PRODUCT:
        for path in sorted((ROOT / room).rglob("*.py")):
            yield str(path.relative_to(ROOT)), ast.parse(path.read_text())


def writes(tree: ast.AST) -> list[str]:
    """Calls that change something on the disk, or may."""
    return [
        f"{node.lineno}: {ast.unparse(node)[:60]}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and _changes(node)
    ]


def _changes(call: ast.Call) -> bool:
    match call.func:
        case ast.Attribute(ast.Name(module), name) if name in OF_MODULES:
            if name == "open" and module in OF_MODULES["open"]:
                return not _only_reads(call)
            return module in OF_MODULES[name] or (name == "open" and _mode(call, 0) in MODES)
        case ast.Attribute(_, "open"):
            return _mode(call, 0) in MODES
        case ast.Attribute(_, name) | ast.Name(name) if name in CHANGING:
            return True
        case ast.Name("open"):
            return _mode(call, 1) is not None
    return False


def _only_reads(call: ast.Call) -> bool:
    """Whether the flags of `os.open` name nothing that writes."""
    return not any(
        word in ast.unparse(call) for word in ("O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC")
    )


def _mode(call: ast.Call, place: int) -> str | None:
    """The mode of `open`, where it writes or is not a text that stands there."""
    given = [each.value for each in call.keywords if each.arg == "mode"] or call.args[
        place : place + 1
    ]
    if not given:
        return None
    if isinstance(given[0], ast.Constant) and isinstance(given[0].value, str):
        return given[0].value if set("wax+") & set(given[0].value) else None
    return ast.unparse(given[0])


def test_no_other_module_writes() -> None:
    found = {path: calls for path, tree in modules() if (calls := writes(tree))}
    assert {path: calls for path, calls in found.items() if path not in {*THE_WAY, *OTHERS}} == {}
    assert found.keys() >= {*THE_WAY, *OTHERS}, "modules that do not write any more"


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        ("Path('a').write_text('')", True),
        ("os.replace(a, b)", True),
        ("text.replace(a, b)", False),
        ("open(a, 'w')", True),
        ("open(a, mode=given)", True),
        ("open(a)", False),
        ("Path('a').open('ab')", True),
        ("Path('a').open(newline='')", False),
        ("os.open(a, os.O_RDONLY | os.O_CREAT)", True),
        ("os.open(a, os.O_RDONLY)", False),
        ("shutil.rmtree(a)", True),
        ("webbrowser.open(address)", False),
        ("places.remove(a)", False),
    ],
)
def test_writes_are_found(text: str, is_told: bool) -> None:
    assert bool(writes(ast.parse(text))) is is_told


def test_what_writes_by_itself_is_there() -> None:
    assert all(Path(ROOT, path).is_file() for path in {*THE_WAY, *OTHERS})
