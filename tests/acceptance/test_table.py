"""The table of docs/acceptance.md is what this session saw; runs last, because it needs all the others."""

from __future__ import annotations

import pytest

from tests.acceptance.support.results import PAGE, RESULTS, page_with, table


def test_the_page_has_this_sessions_table(request: pytest.FixtureRequest, update: bool) -> None:
    whole = request.config.getoption("--jobs") is None and request.config.getoption("--seed") == 1
    if not (whole and set(RESULTS.accepted) and RESULTS.trained):
        pytest.skip("the table is of a whole run with the default jobs, and this is another one")
    wanted = page_with(table(RESULTS))
    if update:
        PAGE.write_text(wanted)
    assert PAGE.read_text() == wanted, "pytest tests/acceptance --update rewrites the table"
