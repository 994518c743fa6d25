"""The programs on the pages for programs run as they stand, and print what is shown below them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from parc.mcp.tools import TOOLS
from parc.printing.schemas import SCHEMAS
from tests.support.fences import Fence, fences
from tests.support.paths import ROOT

DOCS = ROOT / "docs"
PYTHON, AGENT = DOCS / "from-python.md", DOCS / "from-an-agent.md"
#: Printed between the outputs of two programs that run as one.
MARK = "-- the next program --"


def shown(path: Path) -> list[tuple[Fence, Fence]]:
    """Each program of a page, with the output below it."""
    pieces = [each for each in fences(path.read_text()) if each.language in ("python", "text")]
    pairs = list(zip(pieces[::2], pieces[1::2], strict=True))
    assert pairs and all((a.language, b.language) == ("python", "text") for a, b in pairs)
    return pairs


def printed(programs: list[str], folder: Path) -> list[str]:
    """The output of each program; a later one has the names of those before."""
    shutil.copytree(ROOT / "examples", folder / "examples", dirs_exist_ok=True)
    code = f"\nprint({MARK!r})\n".join(programs)
    search = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=600,
        env={**os.environ, "PATH": search},
    )
    assert ran.returncode == 0, ran.stderr
    return [text.strip("\n") + "\n" for text in ran.stdout.split(f"{MARK}\n")]


@pytest.mark.parametrize("path", [PYTHON, AGENT], ids=lambda path: path.stem)
def test_programs_print_what_is_shown(path: Path, tmp_path: Path, update: bool) -> None:
    if path == AGENT:
        pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
    pairs = shown(path)
    outputs = printed([program.text for program, _ in pairs], tmp_path)
    if update:
        document = path.read_text()
        for (_, place), output in reversed([*zip(pairs, outputs, strict=True)]):
            document = document[: place.start] + output + document[place.end :]
        path.write_text(document)
        return
    for (program, place), output in zip(pairs, outputs, strict=True):
        assert output == place.text, program.text


def test_the_block_for_clients_starts_the_server() -> None:
    from parc.__main__ import parser

    (block,) = [each for each in fences(AGENT.read_text()) if each.language == "json"]
    server = json.loads(block.text)["mcpServers"]["parc"]
    assert server["command"] == "parc"
    arguments = parser("mcp").parse_args(server["args"])
    assert arguments.root == "." and arguments.seconds == 60


def test_the_table_of_schemas_has_each() -> None:
    rows = re.findall(
        r"^\| \[([\w-]+)\]\(schemas/([\w-]+)\.json\) \|", PYTHON.read_text(), re.MULTILINE
    )
    assert rows == [(name, name) for name in SCHEMAS]


def test_the_table_of_tools_has_each_with_all_that_it_takes() -> None:
    page = AGENT.read_text()
    for tool in TOOLS.values():
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{tool.name}` |")]
        known = {*tool.input_schema()["properties"]} - {"job", "file", "files", "texts"}
        last = row.split("|")[-2]
        assert set(last.split("`")[1::2]) == known, tool.name
