"""Requests -> answers of processes that are kept, so that nothing of parc is loaded twice; a process that
takes too
long or too much memory, or whose answer nobody waits for any more, is ended and another one begun.
"""

from __future__ import annotations

import asyncio
import math
import resource
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from typing import TypeAlias

#: What is asked -> the media type of the answer and the answer. A function of a module: processes load it
#: by name.
Answerer: TypeAlias = Callable[[dict[str, object]], tuple[str, bytes]]
#: Seconds after its limit at which a process ends by itself, where the server was killed before it could
#: end it.
GRACE = 5


class Busy(Exception):
    """As many requests as may wait do so already."""


class TookTooLong(Exception):
    """A process was killed at its limit."""


class TookTooMuch(Exception):
    """A process needed more memory than it may take, and was ended."""


class Died(Exception):
    """A process was ended from outside, as a lack of memory does."""


@dataclass
class _Worker:
    """A process and our end of its pipe."""

    process: ForkServerProcess
    connection: Connection

    async def ask(self, request: dict[str, object]) -> tuple[str, bytes]:
        """The answer, once it is there. Raises `TookTooMuch`, or `EOFError` or `OSError` where the process
        has died."""
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        number = self.connection.fileno()
        self.connection.send(request)

        def is_there() -> None:
            if not ready.done():
                ready.set_result(None)

        loop.add_reader(number, is_there)
        try:
            await ready
        finally:
            loop.remove_reader(number)
        found = self.connection.recv()
        if found is None:
            raise TookTooMuch
        media, body = found
        return media, body

    def end(self) -> None:
        with suppress(OSError):
            self.connection.close()
        self.process.kill()
        self.process.join()


class Pool:
    """At most `count` processes and `waiting` requests that wait for one; each request has `seconds`, each
    process `most_bytes`."""

    def __init__(
        self, answer: Answerer, count: int, waiting: int, seconds: float, most_bytes: int
    ) -> None:
        self._answer, self._count, self._most_waiting = answer, count, waiting
        self.seconds, self.most_bytes = seconds, most_bytes
        self._free = asyncio.Semaphore(count)
        self._waiting = 0
        self._idle: list[_Worker] = []
        self._busy: list[_Worker] = []

    def start(self, preloaded: Sequence[str]) -> None:
        """Begins the processes; the first pool to start loads for all. Takes as long as loading does."""
        while len(self._idle) < self._count:
            self._idle.append(self._started(preloaded))

    async def ask(self, request: dict[str, object]) -> tuple[str, bytes]:
        """The answer of a process. Raises `Busy`, `TookTooLong`, `TookTooMuch` or `Died`; cancelling it kills
        the process."""
        if self._free.locked() and self._waiting >= self._most_waiting:
            raise Busy
        self._waiting += 1
        try:
            await self._free.acquire()
        finally:
            self._waiting -= 1
        try:
            return await self._asked(request)
        finally:
            self._free.release()

    async def _asked(self, request: dict[str, object]) -> tuple[str, bytes]:
        worker = self._idle.pop() if self._idle else self._started(())
        self._busy.append(worker)
        answered = False
        try:
            async with asyncio.timeout(self.seconds):
                answer = await worker.ask(request)
            answered = True
            return answer
        except TimeoutError:
            raise TookTooLong from None
        except (EOFError, OSError):
            raise Died from None
        finally:
            self._busy.remove(worker)
            if answered:
                self._idle.append(worker)
            else:
                worker.end()

    def _started(self, preloaded: Sequence[str]) -> _Worker:
        context = get_context("forkserver")
        if preloaded:
            context.set_forkserver_preload(list(preloaded))
        ours, theirs = context.Pipe()
        arguments = (theirs, self._answer, self.seconds, self.most_bytes)
        process = context.Process(target=_work, args=arguments, daemon=True)
        with _deaf_to_interruptions():
            process.start()
        theirs.close()
        return _Worker(process, ours)

    def end(self) -> None:
        """Kills every process, whatever it does."""
        for worker in (*self._idle, *self._busy):
            worker.end()
        self._idle.clear()


@contextmanager
def _deaf_to_interruptions() -> Iterator[None]:
    """Processes started within never see Ctrl-C, which a terminal sends to all: ours ends them.

    The tracker is started first: doing so within would take the block off again.
    """
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(connection: Connection, answer: Answerer, seconds: float, most_bytes: int) -> None:
    """Answers until the other end is closed, and says None where the answer takes too much memory. An alarm
    ends it where the server can no longer do so."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    _bounded(most_bytes)
    with suppress(EOFError, OSError):
        while True:
            request = connection.recv()
            signal.alarm(math.ceil(seconds) + GRACE)
            try:
                found = answer(request)
            except MemoryError:
                found = None
            connection.send(found)
            signal.alarm(0)


def _bounded(most_bytes: int) -> None:
    """Lets this process take no more private memory (heap, threads' stacks; not the code of libraries); less
    where the system allows less. macOS takes the limit and does not keep it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    given = [each for each in (soft, hard, most_bytes) if each != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min(given), hard))
