"""Acceptance runs: which seed, how many jobs, and the versions they ran against."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from tests.acceptance.support.environments import cache_folder, used, versions_of_all
from tests.acceptance.support.jobs_of_seed import Batch, batch
from tests.acceptance.support.results import RESULTS
from tests.acceptance.support.smoking import Smokes, begun
from tests.acceptance.support.watched import watch

#: Jobs with a layout that each target is asked for.
JOBS = {
    "megatron": 200,
    "deepspeed": 200,
    "deepspeed-hf": 100,
    "torchtitan": 60,
    "torchtitan-0.3": 60,
    "slurm": 60,
}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("acceptance")
    group.addoption("--seed", type=int, default=1, help="of the generated jobs")
    group.addoption("--jobs", type=int, default=None, help="jobs per target instead of its default")


def pytest_sessionstart() -> None:
    hear_signals()
    watch()


def hear_signals() -> None:
    """In the background of a shell, or under nohup, signals are ignored, and so they would be in every
    process that a test starts and ends by one."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_report_header(config: pytest.Config) -> list[str]:
    found = versions_of_all(used())
    stated = ", ".join(f"{name} {version}" for name, version in found.items())
    return [f"acceptance of {stated}; seed {config.getoption('--seed')}"]


class Batches:
    """The generated jobs of each target, compiled when they are first asked for."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._made: dict[str, Batch] = {}

    def wanted(self, target: str) -> int:
        given = self._config.getoption("--jobs")
        return JOBS[target] if given is None else int(given)

    def __getitem__(self, target: str) -> Batch:
        if target not in self._made:
            made = batch(target, self._config.getoption("--seed"), self.wanted(target))
            RESULTS.tried[target] = {"tried": made.tried, "compiled": len(made.jobs)}
            self._made[target] = made
        return self._made[target]


@pytest.fixture(scope="session")
def batches(request: pytest.FixtureRequest) -> Batches:
    return Batches(request.config)


@pytest.fixture(scope="session", autouse=True)
def smokes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Smokes]:
    """Begun with the session: they fill the time in which the other tests leave a core idle."""
    with begun(request.session.items, tmp_path_factory.mktemp("smokes")) as runs:
        yield runs


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The table comes last."""
    items.sort(key=lambda item: item.path.name == "test_table.py")


def pytest_sessionfinish() -> None:
    RESULTS.write(cache_folder() / "results.json")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for target, counts in RESULTS.tried.items():
        terminalreporter.write_line(
            f"{target}: {counts['tried']} jobs tried, {counts['compiled']} have a layout and were judged"
        )
