"""docs/language.md equals the code that it describes, and its blocks are sound."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import parc
from docs.tables import filled_among, renew_among, shown, together
from docs.tables.language import tables
from parc.backends import BACKENDS
from parc.dsl.diagnostics import Source
from parc.dsl.evaluation.fields import read
from parc.dsl.evaluation.scope import Scope
from parc.dsl.schema import CLASSES, setting_types
from parc.dsl.syntax.parser import parse
from parc.dsl.syntax.tree import Setting
from tests.support.paths import ROOT

DOCUMENT = ROOT / "docs" / "language.md"
PAGES = (DOCUMENT, ROOT / "docs" / "limits.md")
TARGETS = {name: backend.target.options for name, backend in BACKENDS.items()}
SETTINGS = CLASSES | {f"target-{name}": options for name, options in TARGETS.items()}
del SETTINGS["stage"]  # has train's
#: What a fragment needs around it, by the block that it may bring itself.
AROUND = {
    "model": "model from std.llama3_8b { }",
    "cluster": "cluster from std.dgx_h100 { }",
    "train": "train { seq_len = 8192; global_batch = 64; tokens = 1T }",
    "target": "target megatron { }",
}


def blocks() -> list[str]:
    return re.findall(r"^```par\n(.*?)^```$", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)


def test_tables_are_up_to_date(update: bool) -> None:
    if update:
        renew_among(PAGES, tables(TARGETS))
    renewed = filled_among(PAGES, tables(TARGETS))
    assert {page: page.read_text() for page in renewed} == renewed


def test_every_table_is_in_the_document() -> None:
    assert set(shown(together(PAGES))) == set(tables(TARGETS))


@pytest.mark.parametrize("text", blocks())
def test_blocks_check(text: str, tmp_path: Path) -> None:
    missing = [
        block for kind, block in AROUND.items() if not re.search(rf"^{kind}\b", text, re.MULTILINE)
    ]
    path = tmp_path / "job.par"
    path.write_text("\n".join([text, *missing]))
    job = parc.load(path)
    assert job.model.layers > 0


@pytest.mark.parametrize("name", SETTINGS)
def test_defaults_read_back(name: str) -> None:
    """A default in the reference may be copied into a job and means what the field's default is."""
    table = tables(TARGETS)[name].splitlines()[2:]
    shown = {row.split("`")[1]: row for row in table}
    for key, rule in setting_types(SETTINGS[name]).items():
        default = shown[key].split(" | ")[2].strip("`")
        if rule.default is None or rule.default in ((), {}):
            assert default in ("", "**required**")
            continue
        (setting,) = parse(Source("x", f"{key} = {default}"))[0].statements
        assert isinstance(setting, Setting)
        assert read(setting.value, rule, Scope()) == pytest.approx(rule.default), key
