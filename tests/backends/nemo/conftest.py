"""Every test of recipes runs in a folder of its own, with a script that has a fault and one that has none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.linted import BAD, GOOD


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.sh").write_text(BAD)
    Path("good.sh").write_text(GOOD)
