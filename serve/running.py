"""A port -> a server on this machine's own address, until it is interrupted."""

from __future__ import annotations

import asyncio
import gc
import resource
import secrets
import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import uvicorn

from .app import Page, app_of
from .connections import bounded
from .doors import Doors
from .limits import Limits
from .processes import Answerer, Pool

ADDRESS = "127.0.0.1"
#: Connections that the system holds until they are accepted, all at once: far fewer than the strangers that
#: there may be, so that none makes room for others before it was looked at.
BACKLOG = 32

#: Objects after which Python looks for unused ones. Commands look far more rarely, since they end soon; a
#: connection leaves a few, and would leave 12 KB each.
OBJECTS = 10_000
#: Files of this process that are no connections: pipes of its processes, the page's, libraries.
OWN_FILES = 64


def listening(port: int) -> socket.socket:
    """A socket at a port, or at a free one for 0. Raises `OSError` where it cannot be had."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((ADDRESS, port))
        found.listen(BACKLOG)
    except BaseException:
        found.close()
        raise
    return found


@dataclass(frozen=True)
class Service:
    """A server's functions: `opened` gives the page its first content, `answer` serves every other request,
    in processes that have loaded `preloaded`, within `limits`."""

    opened: Callable[[], Mapping[str, object]]
    answer: Answerer
    preloaded: Sequence[str]
    limits: Limits

    def pool(self, count: int, waiting: int, seconds: float) -> Pool:
        """Processes that are not started yet."""
        return Pool(self.answer, count, waiting, seconds, self.limits.process_bytes)


def serve(place: socket.socket, service: Service, ready: Callable[[str], None]) -> None:
    """Answers until Ctrl-C, then ends every process and raises `KeyboardInterrupt`, or `SystemExit` where a
    signal ends it; `ready` is told the address once requests are taken."""
    gc.set_threshold(OBJECTS)
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, _end)
    asyncio.run(_serve(place, service, ready))


def _end(number: int, frame: object) -> None:
    raise SystemExit(128 + number)


async def _serve(place: socket.socket, service: Service, ready: Callable[[str], None]) -> None:
    limits = _with_files(service.limits)
    editing = service.pool(limits.editing, limits.edits_waiting, limits.edit_seconds)
    solving = service.pool(limits.solving, limits.solves_waiting, limits.solve_seconds)
    port, token = place.getsockname()[1], secrets.token_urlsafe(24)
    app = app_of(Page(service.opened, editing, solving, limits), port, token)
    server = uvicorn.Server(_config(app, limits))
    try:
        editing.start(service.preloaded)
        solving.start(service.preloaded)
        ready(f"http://{ADDRESS}:{port}/?token={token}")
        await server.serve(sockets=[place])
    finally:
        editing.end()
        solving.end()


def _with_files(limits: Limits) -> Limits:
    """The limits, with fewer connections of strangers where this process may open few files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = limits.connections + OWN_FILES
    if hard == resource.RLIM_INFINITY or hard > soft:
        soft = max(soft, wanted if hard == resource.RLIM_INFINITY else min(wanted, hard))
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    room = max(2, soft - OWN_FILES)
    strangers = min(limits.strangers, room * limits.strangers // limits.connections)
    return replace(limits, strangers=strangers, connections=min(limits.connections, room))


def _config(app: Doors, limits: Limits) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=bounded(limits, app.bears_token),
        ws="none",
        loop="asyncio",
        lifespan="off",
        interface="asgi3",
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        limit_concurrency=limits.connections,
        h11_max_incomplete_event_size=limits.head_bytes,
        timeout_graceful_shutdown=0,
    )
