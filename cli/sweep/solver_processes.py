"""Jobs -> their rows, solved in processes that are kept: parc is loaded once for all of them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from typing import TYPE_CHECKING

from ..printing.plan_json import JsonObject
from .point import killed, solved

if TYPE_CHECKING:
    from parc.dsl.job import Job

#: The number of a point and its job.
Task = tuple[int, "Job"]
#: How often a point is begun whose process is killed, as a lack of memory does.
ATTEMPTS = 2
#: What the server of processes loads, which forks each of them: they share its memory.
_PRELOADED = ["parc.api", "parc.sweep.point", "ortools.sat.python.cp_model"]


@dataclass
class _Worker:
    """A process, our end of its pipe, what it solves and the how manieth attempt that is."""

    process: ForkServerProcess
    connection: Connection
    task: Task
    attempt: int

    def begin(self, task: Task, attempt: int) -> None:
        self.task, self.attempt = task, attempt
        with suppress(OSError):  # it has been killed: there will be no answer
            self.connection.send(task[1])

    def answer(self) -> JsonObject | None:
        """The row of its task; None where the process has been killed."""
        try:
            row: JsonObject = self.connection.recv()
        except (EOFError, OSError):
            return None
        return row

    def end(self) -> None:
        self.connection.close()
        self.process.terminate()
        self.process.join()


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def solve_in_processes(
    tasks: Iterable[Task], targets: Sequence[str], count: int
) -> Iterator[tuple[int, JsonObject]]:
    """The row of each task by its number, in the order in which they end, from at most `count` processes.

    A task whose process is killed is begun again, then refused. The processes end with the iterator.
    """
    waiting = iter(tasks)
    workers: list[_Worker] = []
    try:
        while True:
            while len(workers) < count and (task := next(waiting, None)):
                workers.append(_started(task, targets))
            if not workers:
                return
            ready = wait([worker.connection for worker in workers])
            for worker in [each for each in workers if each.connection in ready]:
                number, row = worker.task[0], worker.answer()
                if row is None:
                    workers.remove(worker)
                    worker.end()
                    if worker.attempt < ATTEMPTS:
                        workers.append(_started(worker.task, targets, worker.attempt + 1))
                        continue
                elif task := next(waiting, None):
                    worker.begin(task, 1)
                else:
                    workers.remove(worker)
                    worker.end()
                yield number, row or killed(targets, ATTEMPTS)
    finally:
        for worker in workers:
            worker.end()


def _started(task: Task, targets: Sequence[str], attempt: int = 1) -> _Worker:
    context = get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, tuple(targets)), daemon=True)
    with _deaf_to_interruptions():
        process.start()
    theirs.close()
    worker = _Worker(process, ours, task, attempt)
    worker.begin(task, attempt)
    return worker


@contextmanager
def _deaf_to_interruptions() -> Iterator[None]:
    """Processes started within never see Ctrl-C, which a terminal sends to all: ours ends them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(connection: Connection, targets: Sequence[str]) -> None:
    """Solves what comes until the other end is closed, also by the death of its process."""
    with suppress(EOFError, OSError):
        while True:
            connection.send(solved(connection.recv(), targets))
