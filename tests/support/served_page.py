"""`parc serve` in a process of its own, and requests to it byte by byte."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.waiting import wait_until

#: Seconds for what comes at once where nothing else runs.
PATIENCE = 60


@dataclass(frozen=True)
class Served:
    """A running server: its process, its port and the token of its address."""

    process: subprocess.Popen[str]
    port: int
    token: str

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def address(self) -> str:
        return f"{self.origin}/?token={self.token}"

    def headers(self) -> dict[str, str]:
        """Those of the page itself."""
        return {
            "Host": f"127.0.0.1:{self.port}",
            "Origin": self.origin,
            "X-Parc-Token": self.token,
            "Content-Type": "application/json",
        }

    def request(
        self, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers by their names in small letters, and body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            method = "GET" if body is None else "POST"
            connection.request(method, path, body, {**self.headers(), **(headers or {})})
            answer = connection.getresponse()
            named = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, named, answer.read()
        finally:
            connection.close()

    def ask(self, kind: str, **fields: object) -> dict[str, Any]:
        """The answer to one kind of question, which must be one."""
        status, _, body = self.request(f"/api/{kind}", json.dumps(fields).encode())
        assert status == 200, body
        found: dict[str, Any] = json.loads(body)
        return found

    def processes(self) -> list[int]:
        """The server's process and those that it began, also by way of others."""
        found = [self.process.pid]
        for number in found:
            tasks = Path(f"/proc/{number}/task").glob("*/children")
            found += [int(child) for task in tasks for child in task.read_text().split()]
        return found


def started(
    *arguments: object, folder: Path | None = None, prepared: Callable[[], None] | None = None
) -> Served:
    """A server at a free port, once it takes requests; its process does what `prepared` says first."""
    process = subprocess.Popen(
        [sys.executable, "-m", "parc", "serve", "--port", "0", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        start_new_session=True,
        preexec_fn=prepared,
    )
    assert process.stdout
    said = process.stdout.readline()
    found = re.fullmatch(r"parc serves http://127\.0\.0\.1:(\d+)/\?token=(\S+)\n", said)
    assert found, said + process.stdout.read()
    return Served(process, int(found[1]), found[2])


@contextmanager
def serving(
    *arguments: object, folder: Path | None = None, prepared: Callable[[], None] | None = None
) -> Iterator[Served]:
    """A server for as long as the context lasts."""
    served = started(*arguments, folder=folder, prepared=prepared)
    try:
        yield served
    finally:
        served.process.send_signal(signal.SIGINT)
        try:
            served.process.wait(20)
        finally:
            served.process.kill()
            if served.process.stdout:
                served.process.stdout.close()


def processor_seconds(number: int) -> float:
    """Seconds that a process has had of all processors; 0 of one that has ended."""
    try:
        fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def alive(number: int) -> bool:
    """Whether a process runs; one that has ended and is not yet collected does not."""
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z" and os.path.exists(f"/proc/{number}")


def ended(numbers: Iterable[int]) -> set[int]:
    """Those of some processes that have ended, once any has."""
    wait_until(lambda: not all(map(alive, numbers)), PATIENCE, "the end of a process")
    return {number for number in numbers if not alive(number)}


def wait_for_work(served: Served, count: int, idle: Mapping[int, float]) -> None:
    """Until so many of the server's processes solve; `idle` is the work that each had done before."""

    def busy() -> bool:
        worked = {number: processor_seconds(number) for number in served.processes()[1:]}
        return sum(worked[each] > idle.get(each, 0.0) + 0.1 for each in worked) >= count

    wait_until(busy, PATIENCE, f"{count} processes that solve")


def work(served: Served) -> dict[int, float]:
    """Seconds that each of the server's processes has had of all processors."""
    return {number: processor_seconds(number) for number in served.processes()}
