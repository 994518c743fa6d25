"""docs/cost-model/ equals the code that it describes, and what it says of known jobs holds."""

from __future__ import annotations

import re

import pytest

import parc
from benchmarks.accuracy import guide
from docs.tables import COST_MODEL, cost_model, filled_among, renew_among, shown, together
from parc.backends import BACKENDS
from tests.support.compiled_examples import EXAMPLES, compiled
from tests.support.paths import ROOT

MEGATRON = BACKENDS["megatron"].target.traits
#: A chapter is read in one sitting; a word has a letter or a digit.
LONGEST_CHAPTER = 3000


def test_tables_are_up_to_date(update: bool) -> None:
    tables = cost_model.tables(cost_model.example()) | guide.tables()
    if update:
        renew_among(COST_MODEL, tables)
    renewed = filled_among(COST_MODEL, tables)
    assert {page: page.read_text() for page in renewed} == renewed
    assert set(shown(together(COST_MODEL))) == {
        *tables,
        "accuracy",
        "accuracy_lines",
        "fresh",
        "fresh_line",
        "ranking",
        "risk",
        "left_out",
        "left_out_line",
        "doubt",
        "rules",
        "published",
    }


def test_the_rooms_of_the_compiler_are_its_chapters() -> None:
    rooms = {path.parent.name.title() for path in (ROOT / "compiler").glob("*/__init__.py")}
    assert len(rooms) > 7
    assert rooms <= set(re.findall(r"^##? (.*)$", together(COST_MODEL), re.MULTILINE))


def test_no_chapter_is_too_long_and_the_first_page_leads_to_each() -> None:
    first, *chapters = COST_MODEL
    assert len(chapters) > 15
    for page in COST_MODEL:
        words = [word for word in page.read_text().split() if re.search(r"\w", word)]
        assert len(words) <= LONGEST_CHAPTER, page.name
    linked = set(re.findall(r"\]\(cost-model/([\w-]+\.md)\)", first.read_text()))
    assert linked == {page.name for page in chapters}


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
    tables = shown(together(COST_MODEL))["terms"]
    formulas = together(COST_MODEL).replace(tables, "")
    assert [name for name, _, _ in cost_model.terms() if name not in formulas] == []


def test_every_part_of_time_and_memory_is_explained() -> None:
    """The names that reports show beside their bars stand in the document."""
    document = together(COST_MODEL)
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
