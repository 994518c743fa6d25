"""A running `parc lsp`, which a module's tests ask over its standard input and output."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator

import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient

COMMAND = [sys.executable, "-m", "parc", "lsp", "--stdio"]


# pytest-lsp publishes no types of its decorator.
@pytest_lsp.fixture(config=ClientServerConfig(COMMAND), scope="module")  # type: ignore[untyped-decorator]
async def client(lsp_client: LanguageClient) -> AsyncIterator[None]:
    """A client of a running server."""
    await lsp_client.initialize_session(
        types.InitializeParams(capabilities=types.ClientCapabilities())
    )
    yield
    await lsp_client.shutdown_session()
