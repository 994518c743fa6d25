"""`parc mcp` in a process of its own, asked by the client of the Model Context Protocol's own SDK."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

REASON = "the extra `mcp` is not installed"


@dataclass(frozen=True)
class Asked:
    """What a call of a tool gave: the data where there is any, all texts, and whether it is an error."""

    data: Any
    texts: list[str]
    wrong: bool


@dataclass(frozen=True)
class Session:
    """An initialised session of the SDK's client, asked from a thread that does not know asyncio."""

    client: Any
    portal: BlockingPortal

    def call(self, tool: str, **arguments: object) -> Asked:
        return _asked(self.portal.call(partial(self.client.call_tool, tool, arguments)))

    def tools(self) -> dict[str, Any]:
        """The tools that the server lists, by name."""
        return {tool.name: tool for tool in self.portal.call(self.client.list_tools).tools}

    def cancelled(self, seconds: float, tool: str, **arguments: object) -> bool:
        """Calls a tool and gives it up after some seconds; whether there was no answer by then."""

        async def call() -> bool:
            with anyio.move_on_after(seconds) as scope:
                await self.client.call_tool(tool, arguments)
            return scope.cancelled_caught

        return self.portal.call(call)

    def at_once(self, count: int, tool: str, **arguments: object) -> list[Asked]:
        """The answers to that many equal calls, sent together."""

        async def call() -> list[Asked]:
            answers: list[Asked] = []

            async def one() -> None:
                answers.append(_asked(await self.client.call_tool(tool, arguments)))

            async with anyio.create_task_group() as tasks:
                for _ in range(count):
                    tasks.start_soon(one)
            return answers

        return self.portal.call(call)


def _asked(result: Any) -> Asked:
    texts = [part.text for part in result.content]
    return Asked(result.structured_content, texts, bool(result.is_error))


@contextmanager
def session(folder: Path, *options: str, **environment: str) -> Iterator[Session]:
    """A server of a folder with a client; it ends with the block."""
    client = pytest.importorskip("mcp.client", reason=REASON)
    stdio = pytest.importorskip("mcp.client.stdio", reason=REASON)
    words = ["-m", "parc", "mcp", "--root", str(folder), *options]
    server = stdio.StdioServerParameters(command=sys.executable, args=words, env=environment)
    opened: Callable[[], Any] = partial(client.Client, server)
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(portal.call(_made, opened)) as connected,
    ):
        yield Session(connected, portal)


async def _made(opened: Callable[[], Any]) -> Any:
    """The client, made in the thread that runs it."""
    return opened()
