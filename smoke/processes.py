"""A command -> its lines with the time of each, and its status. None of its processes outlives it."""

from __future__ import annotations

import os
import selectors
import signal
import socket
import subprocess
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO, NoReturn

#: In the environment of every process of a run, by which it is found again wherever it has gone.
MARK = "PARC_SMOKE_RUN"
POLL_SECONDS = 0.2
GONE_SECONDS = 10.0


@dataclass(frozen=True)
class Line:
    seconds: float
    text: str


@dataclass(frozen=True)
class Ended:
    """`status` is None when the time was up."""

    lines: tuple[Line, ...]
    status: int | None


def run(command: Sequence[str], environment: Mapping[str, str], limit_seconds: float) -> Ended:
    mark = uuid.uuid4().hex
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


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _followed(process: subprocess.Popen[bytes], limit_seconds: float) -> Ended:
    """Lines until the command ends; what it left behind may still hold the pipe."""
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
    """The lines that came to their end, and the begun one; None after the last."""
    data = os.read(stream.fileno(), 1 << 16)
    *whole, begun = ((rest or b"") + data).split(b"\n")
    texts = [line.decode(errors="replace") for line in whole]
    if data:
        return begun, texts
    return None, [*texts, begun.decode(errors="replace")] if begun else texts


@contextmanager
def _ending(mark: str) -> Iterator[None]:
    """What still carries the mark at the end is killed, even when starting it was interrupted."""
    try:
        yield
    finally:
        _end(mark)


def _end(mark: str) -> None:
    """Kills every process that carries the mark; another Ctrl-C waits for it."""
    with _deaf():
        until, batons = time.monotonic() + GONE_SECONDS, set[Path]()
        while (left := marked(mark)) and time.monotonic() < until:
            _signal(left, signal.SIGSTOP)
            batons |= {path for process in left for path in _batons(process)}
            _signal(left, signal.SIGKILL)
            time.sleep(0.05)
        for path in batons:
            path.unlink(missing_ok=True)


def _signal(processes: list[int], number: int) -> None:
    for process in processes:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process, number)


def _batons(process: int) -> Iterator[Path]:
    """Locks of PyTorch's extension builds (torch/utils/file_baton.py) that a process holds: a later build
    would wait for them for ever."""
    with suppress(OSError):
        for link in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):
                path = link.readlink()
                if path.name == "lock":
                    yield path


def marked(mark: str) -> list[int]:
    """Processes whose environment carries the mark; none where there is no /proc."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


def _reap(process: subprocess.Popen[bytes]) -> None:
    """Where there is no /proc, its group is all that can be found of a command."""
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


@contextmanager
def terminable() -> Iterator[None]:
    """SIGTERM and SIGHUP end a run as Ctrl-C does; only the main thread may say so."""
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
def _deaf() -> Iterator[None]:
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
