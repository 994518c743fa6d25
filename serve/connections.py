"""Connections -> requests: one each, in bounded time, and never so many that the page's own has no room."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ClassVar

import h11
from starlette.types import Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

from .limits import Limits

#: Bytes of a head that are read at once: h11 asks how long a head is only while it lacks its end.
PIECE = 4096
#: Whether a request bears the token.
Owned = Callable[[Scope], bool]


class BoundedProtocol(H11Protocol):
    """A connection, which is closed at a deadline. `strangers` are those that share its server's places.

    Every peer is on this machine, so only the token tells the page from another user. A connection is a
    stranger's until its request bears it. Strangers have `stranger_seconds` from being accepted to having
    read their answer, and where there are too many, the oldest makes room. The owner's body and solve are
    bounded by the application, and the reading of its answer by `answer_seconds`.
    """

    limits: ClassVar[Limits]
    owned: ClassVar[staticmethod[[Scope], bool]]
    strangers: ClassVar[dict[H11Protocol, None]]
    _deadline: asyncio.TimerHandle | None = None

    # uvicorn narrows the transport of asyncio's own protocol, and so does this.
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._accepted = self.loop.time()
        self._close_at(self._accepted + self.limits.head_seconds)
        self.strangers[self] = None
        if len(self.strangers) > self.limits.strangers:
            oldest = next(iter(self.strangers))
            del self.strangers[oldest]
            oldest.transport.abort()

    def data_received(self, data: bytes) -> None:
        at = 0
        try:
            while self.cycle is None and at < len(data) and not self.transport.is_closing():
                super().data_received(data[at : at + PIECE])
                at += PIECE
                if self.cycle is not None:
                    self._asked()
            if at < len(data) and not self.transport.is_closing():
                super().data_received(data[at:])
        except h11.LocalProtocolError:
            # What follows the head is malformed, and the answer has begun.
            self.transport.abort()

    def _asked(self) -> None:
        if not self.owned(dict(self.scope)):
            self._close_at(self._accepted + self.limits.stranger_seconds)
            return
        self.strangers.pop(self, None)
        self._cancel()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self not in self.strangers:
            self._close_at(self.loop.time() + self.limits.answer_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self.strangers.pop(self, None)
        self._cancel()
        super().connection_lost(exc)

    def _close_at(self, moment: float) -> None:
        self._cancel()
        self._deadline = self.loop.call_at(moment, self.transport.abort)

    def _cancel(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def bounded(limits: Limits, owned: Owned) -> type[BoundedProtocol]:
    """The protocol of a server's connections."""
    shared = {"limits": limits, "owned": staticmethod(owned), "strangers": {}}
    return type("Bounded", (BoundedProtocol,), shared)
