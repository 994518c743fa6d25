"""Whatever is sent to `parc serve`: it stays up and small, and its owner is answered all the while."""

from __future__ import annotations

import os
import re
import signal
import socket
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from parc.serve.limits import Limits
from tests.support.drawn_sizes import INPUTS
from tests.support.paths import ROOT
from tests.support.raw_requests import raw_request
from tests.support.served_page import PATIENCE, Served, serving
from tests.support.waiting import wait_until

#: Requests: 10,800 of `make fuzz`.
REQUESTS = 4 * INPUTS
CLIENTS = 8
#: What the owner waits for an answer on a machine that others load, and what the server may take.
MOST_SECONDS, MOST_BYTES = 10.0, 40 * 2**20
STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")
#: Types of what is answered for the token alone.
GUARDED = re.compile(rb"content-type: application/(?:json|zip)", re.IGNORECASE)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    (tmp_path / "job.par").write_text((ROOT / "examples" / "gpt_125m.par").read_text())
    with serving("job.par", "--seconds", 5, folder=tmp_path) as found:
        yield found


def answered(served: Served, number: int) -> tuple[bool, bytes]:
    """Whether the request of a number bears the token, and what comes back."""
    request = raw_request(number, served.port, served.token)
    said = b""
    with suppress(OSError), socket.create_connection(("127.0.0.1", served.port), 30) as connection:
        connection.settimeout(0.2 if number % 7 else 15)
        for piece in request.pieces:
            connection.sendall(piece)
        if request.half_closed:
            connection.shutdown(socket.SHUT_WR)
        while request.read and (piece := connection.recv(2**16)):
            said += piece
    return request.owned, said


def peak_bytes(served: Served) -> int:
    status = Path(f"/proc/{served.process.pid}/status").read_text()
    return int(re.findall(r"VmHWM:\s*(\d+) kB", status)[0]) * 1024


def open_files(served: Served) -> int:
    return len(os.listdir(f"/proc/{served.process.pid}/fd"))


def test_any_bytes_are_answered_or_cut_off(served: Served) -> None:
    before, files = peak_bytes(served), open_files(served)
    waited = []
    with ThreadPoolExecutor(CLIENTS) as threads:
        sent: list[Future[tuple[bool, bytes]]] = [
            threads.submit(answered, served, number) for number in range(REQUESTS)
        ]
        while not all(each.done() for each in sent):
            began = time.monotonic()
            assert served.request("/api/opened")[0] == 200 == served.request("/")[0]
            waited.append(time.monotonic() - began)
            time.sleep(0.05)
    assert max(waited) < MOST_SECONDS
    found = [each.result() for each in sent]
    for owned, said in found:
        status = STATUS.match(said)
        assert status or not said
        assert owned or not (b"HTTP/1.1 200" in said and GUARDED.search(said)), said
    statuses = {int(status[1]) for _, said in found if (status := STATUS.match(said))}
    assert (
        {200, 400, 401, 403, 404} <= statuses <= {200, 400, 401, 403, 404, 405, 408, 413, 415, 503}
    )
    assert peak_bytes(served) - before < MOST_BYTES
    most = Limits().stranger_seconds + Limits().answer_seconds + PATIENCE
    wait_until(lambda: open_files(served) <= files, most, "the end of all connections")
    served.process.send_signal(signal.SIGINT)
    assert served.process.wait(PATIENCE) == 130
    assert served.process.stdout
    assert served.process.stdout.read() == "Ctrl-C ends it\ninterrupted\n"
