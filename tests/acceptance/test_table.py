"""The table of docs/acceptance.md holds what this session saw; runs last, because it needs all the others."""

from __future__ import annotations

import pytest

from docs.tables import filled
from tests.acceptance.support.feature_table import PAGE, RESULTS, missing_on_page, table
from tests.acceptance.support.sample import FIXED_SEED


def test_nothing_went_further_than_the_page_says() -> None:
    if not (RESULTS.accepted or RESULTS.trained):
        pytest.skip("no test was selected that accepts or trains a layout")
    assert not missing_on_page(RESULTS)


def test_the_page_has_the_table_of_the_whole_run(
    request: pytest.FixtureRequest, update: bool
) -> None:
    options = request.config.option
    if not (options.all and options.jobs is None and options.seed == FIXED_SEED):
        pytest.skip(
            "the table is of a whole run with its own jobs and seed: --all, and nothing else"
        )
    wanted = filled(PAGE.read_text(), {"acceptance": table(RESULTS)})
    if update:
        PAGE.write_text(wanted)
    assert PAGE.read_text() == wanted, "make acceptance ARGS='--all --update' rewrites the table"
