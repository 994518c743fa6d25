"""docs/cost-model.md equals the code that it describes, and what it says of known jobs holds."""

from __future__ import annotations

import re
from dataclasses import fields

import cost_tables
from compiled import EXAMPLES, ROOT, compiled

import parc
from parc.compiler.plan import Layout
from parc.compiler.target import Traits

DOCUMENT = ROOT / "docs" / "cost-model.md"


def test_tables_are_up_to_date(update: bool) -> None:
    job = cost_tables.example()
    if update:
        DOCUMENT.write_text(cost_tables.filled(DOCUMENT.read_text(), job))
    document = DOCUMENT.read_text()
    assert document == cost_tables.filled(document, job)


def test_every_table_is_in_the_document() -> None:
    shown = re.findall(r"<!-- table (\S+) -->", DOCUMENT.read_text())
    assert sorted(shown) == sorted(cost_tables.tables(cost_tables.example()))


def test_every_trait_is_shown() -> None:
    assert set(cost_tables.SAID) == {field.name for field in fields(Traits)} - {"state"}


def test_every_constant_says_whose_number_it_is() -> None:
    assert [name for name, _, comment in cost_tables.constants() if not comment] == []


def test_every_term_has_its_formula() -> None:
    formulas = DOCUMENT.read_text().partition("<!-- table terms -->")[0]
    assert [name for name, _, _ in cost_tables.terms() if name not in formulas] == []


def test_every_part_of_time_and_memory_is_explained() -> None:
    """The names that reports show beside their bars stand in the document."""
    document = DOCUMENT.read_text()
    estimates = [plan.estimate for name in EXAMPLES for plan in compiled(name).plans]
    named = {part for each in estimates for part in each.time}
    named |= {kind for each in estimates for kind in each.fullest.memory}
    assert [name for name in sorted(named) if f"| `{name}` |" not in document] == []


def layouts(example: str) -> dict[str, Layout]:
    """The chosen layout of each target, the best first."""
    return {plan.target: plan.layout for plan in compiled(example).plans}


def test_eight_gpus_on_nvlink_need_no_pipeline() -> None:
    assert {layout.pp for layout in layouts("llama3_8b").values()} == {1}


def test_without_nvlink_a_pipeline_beats_gathering_weights() -> None:
    best = next(iter(layouts("llama2_7b_pcie").values()))
    assert best.pp > 1 and best.tp == 1
    job = parc.load(EXAMPLES["llama2_7b_pcie"])
    sharded = parc.estimate(job, {"zero": 3, "dp_shard": 8}, "megatron")
    assert sharded.mfu < compiled("llama2_7b_pcie").plans[0].estimate.mfu


def test_gpt3_takes_the_tensor_and_pipeline_parallelism_of_its_papers() -> None:
    layout = layouts("gpt3_175b")["megatron"]
    assert layout.tp == 8 and layout.pp > 1


def test_long_sequences_take_context_parallelism() -> None:
    assert min(layout.cp for layout in layouts("llama3_405b_131k").values()) > 1


def test_tensor_parallelism_stays_in_the_node_where_a_pipeline_is_possible() -> None:
    for example in EXAMPLES:
        for plan in compiled(example).plans:
            assert plan.layout.tp <= plan.job.cluster.domain, (example, plan.target)


def test_llama3_405b_as_published() -> None:
    """arXiv 2407.21783, table 4: tp 8, cp 1, pp 16, dp 128 reached 41 % MFU."""
    job = parc.load(EXAMPLES["llama3_405b"])
    published = parc.estimate(job, {"tp": 8, "pp": 16, "cp": 1, "dp_shard": 128}, "megatron")
    assert abs(published.mfu - 0.41) < 0.04
    assert compiled("llama3_405b").plans[0].estimate.mfu >= published.mfu
