"""docs/cost-model.md equals the code that it describes, and what it says of known jobs holds."""

from __future__ import annotations

import re

import pytest

import parc
from benchmarks.accuracy import guide
from docs.tables import cost_model, filled, renew, shown
from parc.backends import BACKENDS
from tests.support.compiled_examples import EXAMPLES, compiled
from tests.support.paths import ROOT

MEGATRON = BACKENDS["megatron"].target.traits
DOCUMENT = ROOT / "docs" / "cost-model.md"


def test_tables_are_up_to_date(update: bool) -> None:
    tables = cost_model.tables(cost_model.example()) | guide.tables()
    if update:
        renew(DOCUMENT, tables)
    document = DOCUMENT.read_text()
    assert document == filled(document, tables)
    assert set(shown(document)) == {
        *tables,
        "accuracy",
        "fresh",
        "ranking",
        "risk",
        "left_out",
        "doubt",
        "rules",
        "published",
    }


def test_the_rooms_of_the_compiler_are_its_chapters() -> None:
    rooms = {path.parent.name.title() for path in (ROOT / "compiler").glob("*/__init__.py")}
    chapters = re.findall(r"^## (.*)$", DOCUMENT.read_text(), re.MULTILINE)
    assert chapters[0] == "Notation" and rooms == set(chapters[1 : 1 + len(rooms)])


def test_every_trait_is_shown() -> None:
    assert set(cost_model.SAID) == set(MEGATRON.by_name()) - {"state"}


def test_no_two_groups_of_traits_share_a_name() -> None:
    names = [name for group in vars(MEGATRON).values() for name in vars(group)]
    assert len(names) == len(set(names))
    with pytest.raises(TypeError, match="nonsense"):
        MEGATRON.replaced(nonsense=1)
    assert MEGATRON.replaced(fused=False).kernels.fused is False


def test_every_constant_says_whose_number_it_is() -> None:
    assert [name for name, _, comment in cost_model.constants() if not comment] == []


def test_every_term_has_its_formula() -> None:
    formulas = DOCUMENT.read_text().partition("<!-- table terms -->")[0]
    assert [name for name, _, _ in cost_model.terms() if name not in formulas] == []


def test_every_part_of_time_and_memory_is_explained() -> None:
    """The names that reports show beside their bars stand in the document."""
    document = DOCUMENT.read_text()
    estimates = [plan.estimate for name in EXAMPLES for plan in compiled(name).plans]
    named = {part for each in estimates for part in each.time}
    named |= {kind for each in estimates for kind in each.fullest.memory}
    assert [name for name in sorted(named) if f"| `{name}` |" not in document] == []


def test_without_nvlink_a_pipeline_beats_gathering_weights() -> None:
    """The section on the PCIe box; tests/compiler/test_known_layouts.py holds what the other sections say."""
    best = compiled("llama2_7b_pcie").plans[0]
    assert best.layout.pp > 1 and best.layout.tp == 1
    sharded = parc.estimate(best.job, {"zero": 3, "dp_shard": 8}, "megatron")
    assert sharded.mfu < best.estimate.mfu
