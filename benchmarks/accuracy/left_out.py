"""Expected errors for runs that nobody has tuned on: every source of the table, left out whole.

    python benchmarks/accuracy/left_out.py [--data FILE.csv] [--json FILE] [--docs]

For each source in turn, entries of the table of stacks that no other source uses are taken away, so that its
framework falls back to an older entry or to the plain one; facts of kernels that it alone tells (`WITHOUT`)
go back to what others published; and the efficiencies are fitted to the other sources. Runs of
measured_fresh.csv, to which nothing is fitted, are sources left out as they stand. Prints the errors of each
source beside those of the values in use, and how many of its runs lie in their band, whose spread comes from
the other sources too (`familiar_bands.py`); how true the risk to run out of memory is; and the half-widths
that all sources give, which compiler/familiarity.py holds. The same file gives the same numbers. Exit codes:
0 something was scored, 1 nothing could be left out, 2 the file or the arguments are unusable.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that it runs by its path
from benchmarks.accuracy import accuracy, fit
from benchmarks.accuracy.familiar_bands import (
    Key,
    Unseen,
    keys_of,
    known_kind,
    nested,
    widths,
)
from benchmarks.accuracy.fit_by_descent import Fit, Floats, Point, Sample
from benchmarks.accuracy.report import document_tables, doubt_scores
from benchmarks.accuracy.report.plain_text import percent, table
from benchmarks.accuracy.report.scores import repriced
from benchmarks.accuracy.rows.csv_rows import Row, Unreadable
from benchmarks.accuracy.setups.memory_traits import Traits
from benchmarks.accuracy.setups.setup import Setup, case_of, setup_of
from benchmarks.accuracy.setups.stacks import PLAIN, STACKS, Stack, stack_of
from parc.compiler.familiarity import Known
from parc.compiler.risk import FOUR_OF_FIVE
from parc.compiler.time.attention_kernels import PACE

Report = dict[str, Any]


@dataclass(frozen=True)
class Without:
    """Replacements for facts of kernels that only the runs of one source tell: `attention` multiplies the
    pace of its attention kernel, `traits` replaces traits."""

    attention: float = 1.0
    traits: Traits = ()


#: FlashAttention-2 on Hopper by its successor's authors: 0.35 of peak where they reach 0.66 (arXiv
#: 2407.08608).
PUBLISHED_FA2 = 0.35 / 0.66
WITHOUT: Mapping[str, Without] = {
    "torchtitan benchmarks": Without(
        attention=PUBLISHED_FA2 / PACE["sdpa"]["sm90"], traits=(("fp8_pace", 1.0),)
    ),
    # As far below FlashAttention-2 as on Ampere.
    "llm-foundry training benchmarks H100": Without(
        attention=PACE["triton"]["sm80"] * PUBLISHED_FA2 / PACE["triton"]["sm90"]
    ),
}


def shared_stacks(found: Mapping[str, Sequence[Row]], name: str) -> tuple[Stack, ...]:
    """The entries of the table that rows of other sources than `name` use."""
    others = {
        id(stack_of(row)) for source, of_it in found.items() if source != name for row in of_it
    }
    return tuple(stack for stack in STACKS if id(stack) in others)


def as_left_out(setup: Setup, without: Without) -> Setup:
    """A run priced without the facts of kernels that its own source tells."""
    asked, gpu = setup.asked, setup.asked.cluster.gpu
    slower = gpu.model_copy(
        update={"attention_efficiency": gpu.attention_efficiency * without.attention}
    )
    cluster = asked.cluster.model_copy(update={"gpu": slower})
    changed = replace(asked, cluster=cluster, traits=(*asked.traits, *without.traits))
    return replace(setup, asked=changed, case=case_of(changed))


def samples(setups: Sequence[Setup]) -> list[Sample]:
    return [each for setup in setups if (each := fit.sample(setup)) is not None]


def scores(errors: Floats, of_runs: Floats) -> Report:
    """Median, 90th percentile and signed median of predicted / measured - 1, and the share of runs in their
    80 % band, from errors as log(predicted / measured)."""
    if not len(errors):
        return {"n": 0, "median_ape": None, "p90_ape": None, "bias": None, "in_band": None}
    size = np.abs(np.expm1(errors))
    return {
        "n": len(errors),
        "median_ape": float(np.median(size)),
        "p90_ape": float(np.percentile(size, 90)),
        "bias": float(np.median(np.expm1(errors))),
        "in_band": float(np.mean(np.abs(errors) <= FOUR_OF_FIVE * of_runs)),
    }


def report(path: Path, fresh: Path | None = None) -> Report:
    """Scores of every source, with the values in use and left out, and the medians over sources; those of
    `fresh` are left out as they stand. Raises Unreadable."""
    descent, found = Fit(fit.PARAMETERS), fit.timed_rows(path)
    sources = fit.samples(path)
    if len(sources) < 2:
        return {"by_source": {}}
    points = fit.left_out(descent, sources, descent.descend(fit.dense(sources), descent.priors))
    used = tuple(parameter.current() for parameter in fit.PARAMETERS)
    unseen, fell_back = {}, {}
    for name in sources:
        stacks = shared_stacks(found, name)
        apart = [
            as_left_out(setup, WITHOUT.get(name, Without()))
            for setup in fit.setups(found[name], stacks)
        ]
        others = keys_of(it.setup for other in sources if other != name for it in sources[other])
        unseen[name] = _unseen(descent, samples(apart), points[name], others)
        fell_back[name] = _fell_back(fit.setups(found[name]), stacks)
    later = fit.timed_rows(fresh) if fresh else {}
    for name, rows in later.items():
        if whole := fit.setups(rows):
            unseen[name] = _untold(descent, samples(whole))
            fell_back[name] = _fell_back(whole, STACKS)
    of_others = nested(unseen)
    by_source = {}
    for name in unseen:
        known = samples(fit.setups(found.get(name, ())))
        band = np.array([case_of(it.setup.asked).familiarity.step_spread for it in known])
        by_source[name] = {
            "fitted": scores(descent.errors(known, used), band),
            "left_out": scores(unseen[name].errors, of_others[name]),
            "stack": fell_back[name],
        }
    middle = {kind: _middle(by_source, kind) for kind in ("fitted", "left_out")}
    return {
        "by_source": by_source,
        "median_of_sources": middle,
        "risk": risks(path, found),
        "widths": widths(unseen.values()),
    }


def risks(path: Path, found: Mapping[str, Sequence[Row]]) -> Report:
    """How true the risk is of sources with runs that ran out of memory, as they are priced and left out."""
    runs = [
        run for run in accuracy.score(path).runs if accuracy.measured(run.row) and not run.range
    ]
    result: Report = {}
    for name in doubt_scores.risk(runs)["by_source"]:
        known, stacks = [run for run in runs if run.row.source == name], shared_stacks(found, name)
        apart = [repriced(run, setup_of(run.row, stacks)) for run in known]
        kinds = {"fitted": known, "left_out": apart}
        result[name] = {kind: doubt_scores.risk(of_it) for kind, of_it in kinds.items()}
    return result


def _unseen(descent: Fit, found: Sequence[Sample], point: Point, others: set[Key]) -> Unseen:
    """Runs of a source left out, where `others` is what other sources ran."""
    known = (
        Known(
            it.setup.stack is stack_of(it.setup.row),
            known_kind(it.setup, others),
            it.setup.case.model.moe,
        )
        for it in found
    )
    return Unseen(tuple(known), descent.errors(found, point))


def _untold(descent: Fit, found: Sequence[Sample]) -> Unseen:
    """Runs of a source that nothing was fitted to, as they are priced."""
    used = tuple(it.current() for it in descent.parameters)
    known = (it.setup.case.known(it.setup.stack is not PLAIN) for it in found)
    return Unseen(tuple(known), descent.errors(found, used))


def _fell_back(known: Sequence[Setup], stacks: Sequence[Stack]) -> str:
    """ "known", "older" or "plain": the least that runs of a source find among `stacks`."""
    found = [(setup.stack, stack_of(setup.row, stacks)) for setup in known]
    if any(entry is PLAIN for was, entry in found):
        return "plain"
    return "known" if all(was is entry for was, entry in found) else "older"


def _middle(by_source: Mapping[str, Report], kind: str) -> Report:
    """Medians over sources; of the share in band the mean."""
    found = [each[kind] for each in by_source.values() if each[kind]["n"]]
    return {
        "median_ape": float(np.median([each["median_ape"] for each in found])),
        "p90_ape": float(np.median([each["p90_ape"] for each in found])),
        "in_band": float(np.mean([each["in_band"] for each in found])),
    }


def text(document: Report) -> str:
    head = (
        "source",
        "rows",
        "fitted |e|",
        "p90",
        "left out |e|",
        "p90",
        "signed",
        "in band",
        "stack",
    )
    lines = []
    for name, each in document["by_source"].items():
        known, unknown = each["fitted"], each["left_out"]
        signed, inside = percent(unknown["bias"], sign=True), percent(unknown["in_band"])
        lines.append(
            (name, str(unknown["n"]), *_two(known), *_two(unknown), signed, inside, each["stack"])
        )
    known, unknown = (document["median_of_sources"][kind] for kind in ("fitted", "left_out"))
    inside = percent(unknown["in_band"])
    last = ("median of sources", "", *_two(known), *_two(unknown), "", inside, "")
    found = [(name, f"{each:.3f}") for name, each in document["widths"].items()]
    risk = ("log loss of the risk", "rows", "fitted", "worst fifty", "left out", "worst fifty")
    told = [
        (name, str(each["fitted"]["n"]), *_loss(each["fitted"]), *_loss(each["left_out"]))
        for name, each in document["risk"].items()
    ]
    return "\n".join(
        [*table(head, [*lines, last]), *table(risk, told), *table(("half-widths", ""), found)]
    )


def _loss(each: Report) -> tuple[str, str]:
    return f"{each['log_loss']:.3f}", percent(each["worst_fifty"])


def _two(each: Report) -> tuple[str, str]:
    return percent(each["median_ape"]), percent(each["p90_ape"])


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=accuracy.DATA, help="CSV of measured runs")
    parser.add_argument("--json", type=Path, help="also write the report here")
    parser.add_argument(
        "--docs", action="store_true", help="renew the tables of docs/cost-model/ and README.md"
    )
    asked = parser.parse_args(given)
    try:
        own = asked.data.resolve() == accuracy.DATA
        document = report(asked.data, accuracy.FRESH if own else None)
        if asked.json:
            asked.json.write_text(json.dumps(document, indent=2) + "\n")
    except (Unreadable, OSError) as error:
        print(f"left_out: {error}", file=sys.stderr)
        return 2
    if not document["by_source"]:
        print("left_out: fewer than two sources with times", file=sys.stderr)
        return 1
    if asked.docs:
        document_tables.write_left_out(document)
    print(text(document))
    return 0


if __name__ == "__main__":
    sys.exit(main())
