"""Acceptance runs: which tests and seed, how many jobs, and the versions they ran against."""

from __future__ import annotations

import math
from collections.abc import Iterator
from time import monotonic

import pytest

from tests.acceptance.support import ray_environment
from tests.acceptance.support.environments import cache_folder, versions_of_all
from tests.acceptance.support.feature_table import RESULTS
from tests.acceptance.support.generated_jobs import Batch, batch
from tests.acceptance.support.sample import (
    FIXED_SEED,
    SAMPLE_JOBS,
    SAMPLE_MINUTES,
    WHOLE_JOBS,
    accepts,
    left_out,
    place,
    seed_of_commit,
)
from tests.acceptance.support.session_guard import watch
from tests.acceptance.support.smoke_runs import Smokes, begun

#: Names of the tests that the sample leaves out, by kind.
LEFT_OUT = pytest.StashKey[dict[str, list[str]]]()
#: When the last test may begin.
LATEST = pytest.StashKey[float]()
LAST = "test_table.py"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("acceptance")
    group.addoption(
        "--all", action="store_true", help="every test and hundreds of jobs, not a sample"
    )
    group.addoption(
        "--seed",
        type=int,
        default=None,
        help=f"of the generated jobs and of the sample; else the commit's, with --all {FIXED_SEED}",
    )
    group.addoption("--jobs", type=int, default=None, help="jobs per target instead of its default")
    group.addoption(
        "--minutes",
        type=float,
        default=None,
        help=f"after which a sample begins no other test; {SAMPLE_MINUTES} unless given, no end with --all",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.option.seed is None:
        commits = None if config.option.all else seed_of_commit()
        config.option.seed = FIXED_SEED if commits is None else commits


def pytest_sessionstart(session: pytest.Session) -> None:
    watch()
    minutes = session.config.option.minutes
    if minutes is None and not session.config.option.all:
        minutes = SAMPLE_MINUTES
    session.config.stash[LATEST] = math.inf if minutes is None else monotonic() + 60 * minutes


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    late = monotonic() > item.config.stash[LATEST]
    if late and item.path.name != LAST and not accepts(item.path.name):
        seed = item.config.option.seed
        pytest.skip(
            f"the sample's time is over: make acceptance ARGS='--seed {seed} --minutes 600'"
        )


def pytest_report_header(config: pytest.Config) -> str:
    extent = "every test" if config.option.all else "a sample; --all runs every test"
    return f"seed {config.option.seed}: {extent}"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of what paths and -k have selected, the sample, in the order of files that the seed draws; the table
    comes last."""
    if not config.option.all:
        names = {f"{item.path.name}::{item.name}": item for item in items}
        config.stash[LEFT_OUT] = left_out(list(names), config.option.seed)
        gone = [names[name] for kind in config.stash[LEFT_OUT].values() for name in kind]
        items[:] = [item for item in items if item not in gone]
        config.hook.pytest_deselected(items=gone)
        items.sort(key=lambda item: place(item.path.name, config.option.seed))
    items.sort(key=lambda item: item.path.name == LAST)


class Batches:
    """The generated jobs of each target, compiled when they are first asked for."""

    def __init__(self, config: pytest.Config) -> None:
        self._options = config.option
        self._made: dict[str, Batch] = {}

    def wanted(self, target: str) -> int:
        if self._options.jobs is not None:
            return int(self._options.jobs)
        return (WHOLE_JOBS if self._options.all else SAMPLE_JOBS)[target]

    def __getitem__(self, target: str) -> Batch:
        if target not in self._made:
            made = batch(target, self._options.seed, self.wanted(target))
            RESULTS.tried[target] = {"tried": made.tried, "compiled": len(made.jobs)}
            self._made[target] = made
        return self._made[target]


@pytest.fixture(scope="session")
def batches(request: pytest.FixtureRequest) -> Batches:
    return Batches(request.config)


@pytest.fixture(scope="session")
def ray_variables() -> dict[str, str]:
    return ray_environment.variables()


@pytest.fixture(scope="session", autouse=True)
def smokes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Smokes]:
    """Begun with the session: they fill the time in which the other tests leave a core idle."""
    with begun(request.session.items, tmp_path_factory.mktemp("smokes")) as runs:
        yield runs


def pytest_sessionfinish() -> None:
    RESULTS.write(cache_folder() / "results.json")


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if found := versions_of_all():
        terminalreporter.write_line(f"acceptance of {', '.join(found)}")
    for target, counts in RESULTS.tried.items():
        terminalreporter.write_line(
            f"{target}: {counts['tried']} jobs tried, {counts['compiled']} have a layout and were judged"
        )
    gone = config.stash.get(LEFT_OUT, {})
    for kind, names in gone.items():
        terminalreporter.write_line(f"left out of the sample: {len(names)} of {kind}")
    if gone:
        number = sum(map(len, gone.values()))
        terminalreporter.write_line(
            f"the sample of seed {config.option.seed} leaves out {number} tests;"
            " make acceptance ARGS=--all runs every test"
        )
