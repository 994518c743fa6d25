"""A command -> its lines, each with its time in seconds, and its exit status; no process of it is left."""

import errno
import os
import random
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO, NoReturn

from . import guard
from .guard import MARK

POLL_SECONDS = 0.2
#: Below those that Linux gives to connections by itself (net.ipv4.ip_local_port_range), which might take one
#: before the run listens there, and above those of emitted scripts: 29500 and, in SLURM, 20000 to 29999.
PORTS = range(30_000, 32_768)


@dataclass(frozen=True)
class Line:
    seconds: float
    text: str


@dataclass(frozen=True)
class Ended:
    """`status` is None when the time was up."""

    lines: tuple[Line, ...]
    status: int | None


@contextmanager
def guarded(mark: str, *folders: Path) -> Iterator[None]:
    """While the context lasts, a second process (guard.py) waits. Should this one be killed, it ends the
    processes that carry the mark and removes the folders.

    Its environment is empty, so that it carries no mark, and its session is new, so that Ctrl-C misses it.
    """
    command = [sys.executable, "-I", "-S", guard.__file__, mark, *map(str, folders)]
    process = subprocess.Popen(
        command,
        env={},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        process.communicate()


def run(
    command: Sequence[str],
    environment: Mapping[str, str],
    limit_seconds: float,
    mark: str | None = None,
) -> Ended:
    """Runs a command until it ends or `limit_seconds` have passed; then no process with its mark is left."""
    mark = mark or new_mark()
    with _ending(mark):
        process = subprocess.Popen(
            command,
            env={**environment, MARK: mark},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            return _followed(process, limit_seconds)
        finally:
            _end(mark)
            _reap(process)


def new_mark() -> str:
    return uuid.uuid4().hex


def free_port() -> int:
    """A port of this host that nothing holds."""
    for port in random.sample(PORTS, 100):
        with socket.socket() as listener, suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return port
    raise OSError(errno.EADDRINUSE, f"ports from {PORTS[0]} to {PORTS[-1]} are in use")


def _followed(process: subprocess.Popen[bytes], limit_seconds: float) -> Ended:
    """The lines until the command ends; a child that outlives it may hold the pipe open."""
    assert process.stdout is not None
    began, lines = time.monotonic(), list[Line]()
    rest: bytes | None = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while time.monotonic() - began < limit_seconds:
            ended = process.poll() is not None
            if not selector.select(0 if ended else POLL_SECONDS):
                if ended:
                    break
                continue
            rest, new = _read(process.stdout, rest)
            lines += [Line(time.monotonic() - began, text) for text in new]
            if rest is None:
                break
    with suppress(subprocess.TimeoutExpired):
        process.wait(max(0.0, limit_seconds - (time.monotonic() - began)))
    return Ended(tuple(lines), process.returncode)


def _read(stream: IO[bytes], rest: bytes | None) -> tuple[bytes | None, list[str]]:
    """The unfinished last line, None at the end of the stream, and the complete lines."""
    data = os.read(stream.fileno(), 1 << 16)
    *whole, begun = ((rest or b"") + data).split(b"\n")
    texts = [line.decode(errors="replace") for line in whole]
    if data:
        return begun, texts
    return None, [*texts, begun.decode(errors="replace")] if begun else texts


@contextmanager
def _ending(mark: str) -> Iterator[None]:
    """Kills every process with the mark at the end, even when starting the command was interrupted."""
    try:
        yield
    finally:
        _end(mark)


def _end(mark: str) -> None:
    """Kills every process that carries the mark; signals are ignored meanwhile."""
    with _ignoring_signals():
        guard.end(mark)


def _reap(process: subprocess.Popen[bytes]) -> None:
    """Waits for a command; where there is no /proc to find marks in, its process group is killed first."""
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


@contextmanager
def terminable() -> Iterator[None]:
    """SIGTERM and SIGHUP interrupt like Ctrl-C; only the main thread may set signal handlers."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, interrupt) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


@contextmanager
def _ignoring_signals() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, signal.SIG_IGN) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
