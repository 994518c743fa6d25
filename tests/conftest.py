"""What every test may use: `--update`, which rewrites golden and case files, and the installed tools."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import signal
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from parc.__main__ import OBJECTS
from tests.support.once_per_run import begin_run

#: Files that take longest: they begin first, so that the processes end together.
LONGEST = (
    "compiler/search/test_bounded.py",
    "compiler/search/test_hostile_solves.py",
    "cli/test_killed_processes.py",
    "compiler/search/test_goal_constraints.py",
    "cli/test_init.py",
    "compiler/search/test_fewer_nodes.py",
    "smoke/test_shrunk_jobs.py",
    "compiler/search/test_sizing_goals.py",
    "calibrate/test_trials.py",
    "fuzz/test_patterns.py",
    "lsp/test_code_actions.py",
    "lint/test_lint_emitted.py",
    "compiler/search/test_bounds.py",
    "serve/test_page.py",
    "cli/test_output.py",
)
#: Folders of tests that are of what is done with a plan, not of the search for it.
SEARCHED_ONCE = ("cli", "smoke")

# Examples are the same each time, and no clock judges how they are drawn, which a loaded machine slows down.
settings.register_profile(
    "parc", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("parc")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite golden and case files")


def pytest_configure(config: pytest.Config) -> None:
    # As every command does: 16,000 tests are millions of objects, which stay.
    gc.set_threshold(OBJECTS)
    find_tools()
    hear_signals()
    keep_state_apart()
    begin_run()
    if config.getoption("dist", "no") == "loadfile":  # else pytest-xdist begins with the most tests
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    order = {Path(__file__).parent / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path, len(order)))


@pytest.fixture(autouse=True, scope="module")
def _searched_once(request: pytest.FixtureRequest) -> Iterator[None]:
    """The same job is searched once by all tests of a process that are of what is done with its plan."""
    if request.path.relative_to(Path(__file__).parent).parts[0] not in SEARCHED_ONCE:
        yield
        return
    from tests.support.searched_once import searched_once

    with searched_once():
        yield


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder for temporary files, whose name leaves room for that of a socket."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


def find_tools() -> None:
    """Tools that come as packages (parc, shellcheck) are found although no environment is activated."""
    os.environ["PATH"] = os.pathsep.join(
        [sysconfig.get_path("scripts"), os.environ.get("PATH", "")]
    )


def keep_state_apart() -> None:
    """What parc keeps of a user it keeps elsewhere in tests, also in those that run as processes."""
    folder = tempfile.mkdtemp(prefix="parc-test-state-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["XDG_STATE_HOME"] = folder


def hear_signals() -> None:
    """In the background of a shell, or under nohup, signals are ignored, and so they would be in every
    process that a test starts and ends by one."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session")
def update(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update"))
