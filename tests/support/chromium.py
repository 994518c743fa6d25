"""A headless Chromium of this machine for the tests that need one, started so that it asks for nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
#: Of a module whose tests open pages.
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the path")


@contextmanager
def running_chromium() -> Iterator[Any]:
    """A browser for as long as the context lasts; skips what needs one where playwright is not installed."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=list(OPTIONS))
        yield found
        found.close()
