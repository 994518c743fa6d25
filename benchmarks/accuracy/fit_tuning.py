"""Fit the doubt of fine-tuning forecasts to half of the sources of a table, and score both halves.

    python benchmarks/accuracy/fit_tuning.py [--data CSV] [--seed N ...]

Sources are repositories; a seeded shuffle halves them. Constants are those that lose least on the first half,
the second half has no part in them. `compiler/tuning/fit.py` has the median of the splits. The causes of
memory that `compiler/tuning/memory.py` and `setups/` name were found by reading reports of both halves.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy.tuning import DATA, Priced, forecast, judged, scored
from parc.compiler.tuning.fit import Doubt

SPREADS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.4)
SUREST = (0.85, 0.9, 0.92, 0.94, 0.96, 0.98)
SEEDS = (47, *range(12))


def repository(source: str) -> str:
    """The repository of a source such as `owner/name#12` or `owner/name file@commit`."""
    return source.split(" ")[0].split("#")[0]


def halves(rows: Iterable[Priced], seed: int) -> tuple[list[Priced], list[Priced]]:
    """Rows of half of the repositories, and those of the rest."""
    rows = list(rows)
    names = sorted({repository(each.row.source) for each in rows})
    random.Random(seed).shuffle(names)
    first = set(names[::2])
    sides: tuple[list[Priced], list[Priced]] = ([], [])
    for each in rows:
        sides[repository(each.row.source) not in first].append(each)
    return sides


def doubted(rows: Iterable[Priced], doubt: Doubt) -> list[Priced]:
    return [
        each if each.fits is None else replace(each, fits=forecast(each.needed, each.run, doubt))
        for each in rows
    ]


def fitted(rows: Iterable[Priced]) -> Doubt:
    """The doubt that loses least on the rows whose card is known."""
    known = [each for each in rows if each.fits is not None]
    grid = [Doubt(*values) for values in itertools.product(SPREADS, SUREST)]
    return min(grid, key=lambda doubt: scored(doubted(known, doubt), [])["log_loss"])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA, metavar="CSV")
    parser.add_argument("--seed", type=int, nargs="+", default=SEEDS)
    options = parser.parse_args(arguments)
    rows = judged(options.data)[0]
    for seed in options.seed:
        sides = halves(rows, seed)
        doubt = fitted(sides[0])
        print(f"seed {seed}: {doubt}")
        for name, side in zip(("fitted to", "left out"), sides, strict=True):
            scores = scored(doubted(side, doubt), [])
            print(f"  {name}:", json.dumps({key: scores[key] for key in list(scores)[:-2]}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
