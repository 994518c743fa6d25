"""The editor of the page of `parc serve`, as it is committed: what `make web` makes of its sources."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

from tests.support import npm
from tests.support.paths import ROOT

WEB, PAGE = ROOT / "editors" / "web", ROOT / "serve" / "page"
BUNDLE = ("editor.js", "editor.licences.txt")
STALE = "the editor is older than its sources: `make web` bundles it"


def test_the_bundle_is_of_these_sources() -> None:
    head = (PAGE / "editor.js").read_text().partition("\n")[0]
    wanted = hashlib.sha256()
    listed = re.search(r"SOURCES = \[(.*?)\]", (WEB / "build.js").read_text())
    assert listed and set(re.findall('"(.+?)"', listed[1])) == {
        path.name for path in WEB.iterdir() if path.is_file() and path.name != "package-lock.json"
    }
    for name in re.findall('"(.+?)"', listed[1]):
        wanted.update((WEB / name).read_bytes())
    assert f"sha256 {wanted.hexdigest()};" in head, STALE


def test_make_web_gives_the_same_bytes(tmp_path: Path) -> None:
    sources = tmp_path / "web"
    shutil.copytree(WEB, sources, ignore=shutil.ignore_patterns("node_modules"))
    shutil.copy(WEB.parent / "licences.mjs", tmp_path)
    npm.install(sources, WEB / "package.json")
    built = tmp_path / "built"
    built.mkdir()
    subprocess.run(["node", "build.js", str(built)], cwd=sources, check=True, timeout=120)
    for name in BUNDLE:
        assert (built / name).read_bytes() == (PAGE / name).read_bytes(), STALE
