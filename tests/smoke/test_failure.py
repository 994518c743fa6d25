"""What a failed run shows: a log of torchrun 2.13.0 in which rank 1 failed, and lines made by hand."""

from __future__ import annotations

import pytest

from parc.smoke.failure import SHOWN, excerpt, root_cause
from tests.support.paths import CASES

LOG = (CASES / "smoke" / "failed_rank.log").read_text().splitlines()
NOISE = [f"noise {number}" for number in range(40)]
INNER = ["Traceback (most recent call last):", '  File "a.py", line 1, in <module>', "    f()"]


def test_the_rank_that_failed_first_is_shown() -> None:
    """Rank 0 fails after it, since the connection is closed, and torchrun knows no cause."""
    shown = list(excerpt(LOG))
    assert shown[0] == "[rank1]: Traceback (most recent call last):"
    assert shown[4] == "[rank1]:     assert x.sum() == 0" and shown[6] == "[rank1]: AssertionError"
    assert shown[7:] == [text for text in LOG if text.strip()][-SHOWN:]


def test_without_a_summary_the_first_rank_that_no_other_explains() -> None:
    ranks = [text for text in LOG if text.startswith("[rank")]
    backwards = sorted(ranks, key=lambda text: text[: len("[rank0]")])
    assert "Connection closed" in "".join(backwards[:12])
    assert root_cause(backwards)[-1] == "[rank1]: AssertionError"


def test_without_ranks_the_last_traceback() -> None:
    """The first was caught, as an import that is tried."""
    caught, fatal = [*INNER, "ImportError: no apex"], [*INNER, "ValueError: heads", "  are odd"]
    assert root_cause([*caught, *NOISE, *fatal, *NOISE]) == fatal
    assert list(excerpt([*fatal, *NOISE]))[:5] == fatal


@pytest.mark.parametrize("error", ["ValueError: the cause", "AssertionError", "KeyError: 3"])
def test_without_a_traceback_the_exception(error: str) -> None:
    assert root_cause([*NOISE, error, "  in detail", *NOISE])[:2] == [error, "  in detail"]


def test_a_log_without_an_error_shows_its_end() -> None:
    assert list(excerpt([*NOISE, "", " "])) == NOISE[-SHOWN:]
