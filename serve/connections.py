"""Connections -> requests, with a limit on how long the head of a request may take, which uvicorn lacks."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


def bounded(seconds: float) -> type[H11Protocol]:
    """The protocol that closes a connection whose next request has not begun to arrive whole in time.

    A client that sends a header a second would hold its connection for ever otherwise. How long a body may
    take is the application's matter.
    """

    class BoundedProtocol(H11Protocol):
        _deadline: asyncio.TimerHandle | None = None

        # uvicorn narrows the transport of asyncio's own protocol, and so does this.
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._expect()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state is not h11.IDLE:
                self._cancel()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if self.conn.their_state is h11.IDLE:
                self._expect()

        def connection_lost(self, exc: Exception | None) -> None:
            self._cancel()
            super().connection_lost(exc)

        def _expect(self) -> None:
            self._cancel()
            self._deadline = self.loop.call_later(seconds, self._close)

        def _cancel(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

        def _close(self) -> None:
            self.transport.abort()

    return BoundedProtocol
