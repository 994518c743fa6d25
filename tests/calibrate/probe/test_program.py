"""The program of parc measure: one file of the standard library and PyTorch, its cases, and going on."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from parc.calibrate.probe.bundle import MODULES, bundled
from parc.calibrate.probe.program.cases import cases, group_shapes, key
from parc.calibrate.probe.program.ranks import Failed
from parc.calibrate.probe.program.timed_gpus import earlier
from tests.support import simulated_probe
from tests.support.simulated_probe import dgx, machine, rows, write


def test_the_program_imports_the_standard_library_and_pytorch_alone() -> None:
    imported = set[str]()
    tree = ast.parse(bundled())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported.add((node.module or "").partition(".")[0])
    attention = {"torch", "flash_attn", "flash_attn_interface", "transformer_engine"}
    assert imported - set(sys.stdlib_module_names) == attention


def test_modules_of_the_program_share_no_names() -> None:
    """They are joined to one file."""
    tree = ast.parse(bundled())
    kinds = (ast.FunctionDef, ast.ClassDef)
    names = [node.name for node in tree.body if isinstance(node, kinds)]
    assert len(names) == len(set(names)) > 20
    assert len(MODULES) == len(set(MODULES))


def test_any_beginning_of_the_cases_has_all_kinds() -> None:
    planned = cases("cuda", ("bf16", "fp8"), simulated_probe.KERNELS, 16, 8)
    assert len({key(case) for case in planned}) == len(planned)
    kinds = {case["kind"] for case in planned}
    assert kinds == {"product", "attention", "launch", "stream", "training", "copy", "collective"}
    shapes = {(c["size"], c["stride"]) for c in planned if c["kind"] == "collective"}
    assert shapes == set(group_shapes(16, 8)) == {(2, 1), (4, 1), (8, 1), (2, 8), (16, 1)}
    begun = planned[: len(planned) // 4]
    assert {(c["size"], c["stride"]) for c in begun if c["kind"] == "collective"} == shapes
    assert {c["kind"] for c in begun} == kinds


def test_the_probe_goes_on_where_it_ended(tmp_path: Path) -> None:
    path, cluster = tmp_path / "rows.jsonl", dgx()
    now = machine(cluster, 1)
    assert earlier(str(path), now) == set()
    made = rows(cluster, 1)[:5]
    write(path, [now, *made])
    whole = path.read_text()
    path.write_text(whole + '{"kind": "laun')
    assert {key(case) for case in made} < earlier(str(path), now)
    assert path.read_text() == whole, "a cut line is taken off"
    with pytest.raises(Failed, match="another machine .ranks 8, here 16"):
        earlier(str(path), machine(cluster, 2))
    for text in ("hello\n", "hello", "[1]\nhello", '{"kind": "other"}\nmore'):
        path.write_text(text)
        with pytest.raises(Failed, match="something else"):
            earlier(str(path), now)
        assert path.read_text() == text, "a file of someone else is left as it is"
