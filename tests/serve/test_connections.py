"""Connections of `parc serve`: whoever has no token holds none for long and takes no room from who has it."""

from __future__ import annotations

import os
import resource
import signal
import socket
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest

from parc.__main__ import main
from parc.serve.limits import Limits
from tests.support.paths import ROOT
from tests.support.served_page import PATIENCE, Served, alive, serving, started
from tests.support.waiting import wait_until

LIMITS = Limits()
JOB = (ROOT / "examples" / "gpt_125m.par").read_text()
#: Seconds between a deadline and its effect on a machine that others load.
LATE = 20.0


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    (folder / "job.par").write_text(JOB)
    with serving("job.par", "--seconds", 60, folder=folder) as found:
        yield found


def connected(served: Served, sent: bytes = b"") -> socket.socket:
    found = socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE)
    found.sendall(sent)
    return found


def head(served: Served, first: str, *more: str) -> bytes:
    return "\r\n".join((first, f"Host: 127.0.0.1:{served.port}", *more, "", "")).encode()


def token(served: Served) -> tuple[str, ...]:
    return tuple(f"{name}: {value}" for name, value in served.headers().items() if name != "Host")


def open_sockets(served: Served) -> int:
    found = 0
    for each in Path(f"/proc/{served.process.pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            found += os.readlink(each).startswith("socket:")
    return found


CHUNKED = "Transfer-Encoding: chunked"
#: What a stranger sends first, and then a piece at a time, for ever.
HELD: Mapping[str, tuple[Callable[[Served], bytes], bytes]] = {
    "nothing": (lambda served: b"", b""),
    "a head a byte at a time": (lambda served: b"GET / HT", b"T"),
    "a head a line at a time": (lambda served: b"GET / HTTP/1.1\r\n", b"X: y\r\n"),
    "the body of a GET": (
        lambda served: head(served, "GET / HTTP/1.1", "Content-Length: 99999999999"), b"x",
    ),
    "the chunks of a GET": (lambda served: head(served, "GET / HTTP/1.1", CHUNKED), b"1\r\nx\r\n"),
    "half a chunk": (
        lambda served: head(served, "GET /page/page.js HTTP/1.1", CHUNKED) + b"fffffff\r\n", b"x",
    ),
    "the body of a POST": (
        lambda served: head(served, "POST /api/plan HTTP/1.1", "Content-Length: 200000"), b"x",
    ),
    "a body that waits": (
        lambda served: head(served, "POST /api/plan HTTP/1.1", "Content-Length: 9", "Expect: 100-continue"),
        b"",
    ),
    "one request after the other": (lambda served: head(served, "GET / HTTP/1.1") * 50, b"\r\n"),
    "an upgrade": (
        lambda served: head(served, "GET / HTTP/1.1", "Connection: Upgrade", "Upgrade: websocket"), b"x",
    ),
    "what no version has": (lambda served: b"GET /\r\n", b"\r\n"),
    "another version": (lambda served: b"GET / HTTP/9.9\r\n\r\n", b"\r\n"),
    "an old version that is kept alive": (
        lambda served: head(served, "GET / HTTP/1.0", "Connection: keep-alive"), b"x",
    ),
    "no request": (lambda served: b"\x16\x03\x01\x02\x00\x01\x00", b"\x00"),
}  # fmt: skip


@pytest.fixture(scope="module")
def held(served: Served) -> dict[str, float]:
    """Seconds for which each way holds a connection, all of them tried at once."""
    with ThreadPoolExecutor(len(HELD)) as threads:
        return dict(
            zip(HELD, threads.map(lambda name: seconds_held(served, name), HELD), strict=True)
        )


def seconds_held(served: Served, name: str) -> float:
    first, then = HELD[name]
    began = time.monotonic()
    with suppress(ConnectionError), connected(served, first(served)) as connection:
        connection.settimeout(0.5)
        while time.monotonic() - began < PATIENCE:
            with suppress(TimeoutError):
                if not connection.recv(2**16):
                    break
            connection.sendall(then)
    return time.monotonic() - began


@pytest.mark.parametrize("name", HELD)
def test_whoever_has_no_token_holds_no_connection(held: Mapping[str, float], name: str) -> None:
    assert held[name] < LIMITS.stranger_seconds + LATE


def test_a_head_is_read_up_to_its_limit(served: Served) -> None:
    """As many short headers as are sent, one long one, or one long address."""
    for piece in (b"X: y\r\n" * 500, b"X: " + b"y" * 3000 + b"\r\n", b"y" * 3000):
        sent, said = 0, b""
        with connected(
            served, b"GET / HTTP/1.1\r\n" if piece[:1] == b"X" else b"GET /"
        ) as connection:
            with suppress(ConnectionError):
                while sent < 100 * LIMITS.head_bytes:
                    connection.sendall(piece)
                    sent += len(piece)
                    time.sleep(0.01)
            with suppress(ConnectionError):
                said = connection.recv(100)
        assert said.startswith(b"HTTP/1.1 400 ") or not said
        assert sent < 20 * LIMITS.head_bytes


def test_a_connection_that_is_half_closed_is_closed(served: Served) -> None:
    with connected(served, b"GET / HTTP/1.1\r\n") as connection:
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(100) == b""


def test_the_owner_has_room_however_many_strangers_connect(served: Served) -> None:
    """Each time that one is closed it comes again; no answer takes long and none is a refusal."""
    body = head(served, "GET / HTTP/1.1", "Content-Length: 100000000000")
    beginnings = (b"", b"GET", body, head(served, "POST /api/plan HTTP/1.1", "Content-Length: 9"))
    waited = []
    with ExitStack() as stack:
        strangers: list[socket.socket] = []
        for _ in range(2):
            for number in range(300):
                with suppress(OSError):
                    connection = stack.enter_context(connected(served, beginnings[number % 4]))
                    strangers.append(connection)
            for each in strangers:
                with suppress(OSError):
                    each.sendall(b"x")
            began = time.monotonic()
            assert served.request("/api/opened")[0] == 200 == served.request("/")[0]
            waited.append(time.monotonic() - began)
            assert open_sockets(served) < LIMITS.connections
    assert max(waited) < LIMITS.head_seconds


def test_the_owner_has_room_where_few_files_may_be_open(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)

    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, 128))

    with serving("--seconds", 60, folder=tmp_path, prepared=few) as served, ExitStack() as stack:
        for _ in range(150):
            with suppress(OSError):
                stack.enter_context(connected(served, b"GET"))
        assert served.request("/api/opened")[0] == 200
        assert served.ask("check", text=JOB)["complaints"] == []
        assert open_sockets(served) < 128
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == before


def test_the_owner_has_room_while_strangers_come_and_go(served: Served) -> None:
    end = time.monotonic() + 6

    def come_and_go(number: int) -> int:
        came = 0
        while time.monotonic() < end:
            with suppress(OSError), connected(served, b"GET" * (number % 2)):
                came += 1
        return came

    with ThreadPoolExecutor(8) as threads:
        came = [threads.submit(come_and_go, number) for number in range(8)]
        answered = []
        while time.monotonic() < end:
            answered.append(served.request("/api/opened")[0])
        assert sum(each.result() for each in came) > 100
    assert set(answered) == {200}


@pytest.mark.parametrize("owner", [False, True])
def test_an_answer_that_nobody_reads_is_given_up(served: Served, owner: bool) -> None:
    report = served.ask("plan", text=JOB)["report"]
    before = open_sockets(served)
    asked = head(served, f"GET {report} HTTP/1.1", *(token(served) if owner else ()))
    with ExitStack() as stack:
        for _ in range(20):
            connection = stack.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            connection.connect(("127.0.0.1", served.port))
            connection.sendall(asked)
        most = LIMITS.answer_seconds + LIMITS.stranger_seconds + LATE
        wait_until(lambda: open_sockets(served) <= before, most, "the end of all connections")
    assert served.request("/api/opened")[0] == 200


def test_a_body_of_the_owner_is_read_as_it_is_sent(served: Served) -> None:
    """In pieces or in chunks, and one connection is for one request."""
    body = b'{"text": "let a = 1"}'
    for more, pieces in (
        (f"Content-Length: {len(body)}", [body[:5], body[5:]]),
        ("Transfer-Encoding: chunked", [b"5\r\n", body[:5] + b"\r\n", b"%x;a=b\r\n" % len(body[5:]),
                                        body[5:] + b"\r\n0\r\n", b"X: y\r\n\r\n"]),
    ):  # fmt: skip
        begun = head(served, "POST /api/check HTTP/1.1", more, *token(served))
        with connected(served, begun) as connection:
            for piece in pieces:
                time.sleep(0.1)
                connection.sendall(piece)
            said = b""
            while piece := connection.recv(2**16):
                said += piece
        assert said.startswith(b"HTTP/1.1 200 ") and b"connection: close" in said.lower()


def test_a_folder_for_temporary_files_with_too_long_a_name_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / ("n" * 75)
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    assert main(["serve", "--port", "0"]) == 2
    said = capsys.readouterr().err
    assert "PAR081" in said and "set TMPDIR to a shorter one" in said


@pytest.mark.parametrize(
    ("end", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_open_tells_the_token_to_nobody_but_its_owner(
    tmp_path: Path, short: Path, monkeypatch: pytest.MonkeyPatch, end: signal.Signals, status: int
) -> None:
    """A browser gets a file that only its owner may read, in a folder that only its owner may enter; both are
    gone at the end, and so is every process."""
    browser = tmp_path / "browser"
    browser.write_text(
        f'#!/bin/sh\nprintf %s "$1" > {tmp_path}/named\nmv {tmp_path}/named {tmp_path}/seen\n'
    )
    browser.chmod(0o700)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    monkeypatch.setenv("TMPDIR", str(short))
    mask = os.umask(0)
    try:
        served = started("--open", folder=tmp_path)
    finally:
        os.umask(mask)
    try:
        wait_until((tmp_path / "seen").exists, PATIENCE, "the browser")
        named = (tmp_path / "seen").read_text()
        assert served.token not in named and named.startswith("file:///")
        page = Path(unquote(urlparse(named).path))
        assert f"url={served.address}" in page.read_text()
        assert stat.S_IMODE(page.stat().st_mode) == 0o600
        assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700
        for number in served.processes():
            for name in ("cmdline", "environ"):
                with suppress(FileNotFoundError, ProcessLookupError):
                    assert served.token.encode() not in Path(f"/proc/{number}/{name}").read_bytes()
    finally:
        running = served.processes()
        served.process.send_signal(end)
        ended = served.process.wait(PATIENCE)
        assert served.process.stdout
        said = served.process.stdout.read()
        served.process.stdout.close()
    assert ended == status
    assert not page.parent.exists() and "Traceback" not in said and served.token not in said
    wait_until(lambda: not any(map(alive, running)), PATIENCE, "the end of all processes")
