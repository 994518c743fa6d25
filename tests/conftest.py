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

#: Folders of tests that are of what is done with a plan, not of the search for it.
SEARCHED_ONCE = ("cli", "smoke")

# Examples are the same each time, and no clock judges how they are drawn, which a loaded machine slows down.
settings.register_profile(
    "parc", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("parc")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite golden and case files")


def pytest_configure() -> None:
    # As every command does: 16,000 tests are millions of objects, which stay.
    gc.set_threshold(OBJECTS)
    find_tools()
    hear_signals()
    keep_state_apart()
    begin_run()


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
