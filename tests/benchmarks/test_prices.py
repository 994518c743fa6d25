"""No price moves unseen: the code gives the accepted ones, and what moved since the release says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import prices
from parc.compiler.time import collectives


@pytest.fixture(scope="module")
def now() -> dict[prices.Key, float]:
    return prices.prices()


def test_no_price_moved_unseen(now: dict[prices.Key, float]) -> None:
    found = prices.moves(prices.accepted(), now)
    assert not found, "python benchmarks/prices.py --because TEXT accepts these:\n" + prices.table(
        found
    )


def test_what_moved_since_the_release_says_why() -> None:
    assert not prices.unexplained(prices.accepted())


def test_a_slower_start_of_collectives_is_seen_where_they_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(collectives, "START", 4 * collectives.START)
    known, changed = prices.release(prices.accepted()), prices.prices()
    found = prices.moves(known, changed)
    terms = {move.key[3] for move in found}
    assert {"all-gather", "tp", "dp"} <= terms
    assert not terms & {"product", "attention", "compute", "optimizer"}
    assert not any(term.startswith("memory") for term in terms)
    meant = prices.accept(known, changed, "START is four times as long")
    path = tmp_path / "prices.csv"
    prices.write(meant, path)
    assert not prices.moves(prices.accepted(path), changed)
    assert not prices.unexplained(prices.accepted(path))
    silent = [prices.Price(*line.key, line.released, line.accepted) for line in meant]
    assert {line.key for line in prices.unexplained(silent)} == {move.key for move in found}
    assert prices.moves(prices.release(meant), changed) == []


def test_prices_that_come_and_go_are_moves(now: dict[prices.Key, float]) -> None:
    known = prices.accepted()
    gone = prices.moves(known, dict(list(now.items())[1:]))
    new = prices.moves(known[1:], now)
    assert [(move.key, move.after) for move in gone] == [(known[0].key, None)]
    assert [(move.key, move.before) for move in new] == [(known[0].key, None)]
    assert "gone" in prices.table(gone) and "new" in prices.table(new)
