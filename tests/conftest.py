"""What every test may use: `--update`, which rewrites golden and case files, and the installed tools."""

from __future__ import annotations

import os
import sysconfig

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite golden and case files")


def pytest_configure() -> None:
    """Tools that come as packages (parc, shellcheck) are found although no environment is activated."""
    os.environ["PATH"] = os.pathsep.join(
        [sysconfig.get_path("scripts"), os.environ.get("PATH", "")]
    )


@pytest.fixture(scope="session")
def update(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update"))
