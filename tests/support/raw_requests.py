"""Numbers -> requests to `parc serve` as bytes: sound ones, of which parts are changed, cut or repeated."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

METHODS = (
    "GET",
    "POST",
    "HEAD",
    "PUT",
    "OPTIONS",
    "CONNECT",
    "TRACE",
    "get",
    "G\0T",
    "",
    "A" * 3000,
)
PATHS = (
    "/", "/?token=x", "/page/page.js", "/page/page.css", "/page/../app.py", "/page/%2e%2e%2fapp.py", "/page/",
    "/report/x", "/api/opened", "/api/check", "/api/complete", "/api/plan", "/api/files", "/api/opened?x=%00",
    "//api/opened", "/api//opened", "/API/opened", "/api/opened/", "/./api/opened", "http://127.0.0.1/api/opened",
    "*", "", "/%", "/%ff%fe", "/\xe9", "/" + "a" * 5000, "/a b", "/api/opened#x", "\\api\\opened",
)  # fmt: skip
VERSIONS = (
    "HTTP/1.1",
    "HTTP/1.1",
    "HTTP/1.1",
    "HTTP/1.0",
    "HTTP/0.9",
    "HTTP/2.0",
    "HTTP/1.1x",
    "",
    "ICY",
)
LENGTHS = (
    "0",
    "1",
    "21",
    "100000000000",
    "9" * 400,
    "-1",
    "+5",
    "0x10",
    "1, 1",
    " 7 ",
    "",
    "\u0661",
    "1e3",
)
ENCODINGS = (
    "chunked",
    "Chunked",
    "gzip, chunked",
    "chunked, chunked",
    "identity",
    "xchunked",
    "chunked;x=1",
)
NAMES = (
    "X", "Cookie", "Connection", "Upgrade", "Expect", "Host", "Origin", "X-Parc-Token", "Content-Type", "TE",
    "Content-Length", "Transfer-Encoding", "Range", "Trailer", "Bad Name", "", ":", "X\0", "\xe9", " X",
)  # fmt: skip
VALUES = (
    "", "x", "close", "keep-alive", "Upgrade", "websocket", "100-continue", "null", "\0", "\r", "\xff",
    "a" * 4000, "bytes=0-", "application/json", "http://evil.example", "h2c", ", , ,", "x\r\n folded",
    "chunked", "5",
)  # fmt: skip
CHUNKS = (
    b"5\r\nhello\r\n", b"0\r\n\r\n", b"0\r\nX: y\r\n\r\n", b"fffffffff\r\n", b"-1\r\n", b"5;a=b\r\nhello\r\n",
    b"5\nhello\n", b"g\r\n", b"5\r\nhelloX\r\n", b"1" * 40, b"\r\n", b"00000000000000000005\r\nhello\r\n",
)  # fmt: skip
BODIES = (
    b'{"text": "let a = 1"}', b'{"text": 5}', b"{", b"[" * 4000, b"\xff\xfe", b"", b"x" * 70_000,
    b'{"text": "", "place": 3}', b'{"text": "' + b"a " * 3000 + b'{"}',
)  # fmt: skip
GARBAGE = (
    b"\0",
    b"\xff",
    b"\r\n",
    b"\n",
    b"\r",
    b" ",
    b"\x16\x03\x01",
    b"GET / HTTP/1.1\r\n\r\n",
    b":",
    b"\x85",
)


@dataclass(frozen=True)
class RawRequest:
    """The pieces that are sent, one after the other, and what is done then: the sending half is closed, the
    answer is read, or both are left. `owned` is whether the token is among them."""

    pieces: Sequence[bytes]
    half_closed: bool
    read: bool
    owned: bool


def raw_request(number: int, port: int, token: str) -> RawRequest:
    """The request of a number: a third is framed as it should be, whatever it says."""
    random_ = random.Random(number)
    owned, framed = random_.random() < 0.3, random_.random() < 0.35
    body = random_.choice(BODIES) if framed or random_.random() < 0.4 else _chunks(random_)
    headers = _usual_headers(random_, port, token if owned else "")
    headers += [("Content-Length", str(len(body)))] if framed else _other_headers(random_)
    data = _head(random_, headers, framed) + body
    if not framed and random_.random() < 0.4:
        data = _changed(random_, data)
    if random_.random() < 0.1:
        data *= random_.randrange(2, 30)
    if random_.random() < 0.15:
        data = data[: random_.randrange(len(data) + 1)]
    cuts = sorted(random_.randrange(len(data) + 1) for _ in range(random_.choice((0, 0, 1, 3))))
    ends = [0, *cuts, len(data)]
    pieces = [data[start:end] for start, end in zip(ends, ends[1:], strict=False)]
    return RawRequest(pieces, random_.random() < 0.15, random_.random() < 0.8, owned)


def _usual_headers(random_: random.Random, port: int, token: str) -> list[tuple[str, str]]:
    given = token or random_.choice(("", "guess", "a" * 32))
    own = random_.random() < 0.95
    return [
        ("Host", f"127.0.0.1:{port}" if own else random_.choice(("evil.example", "127.0.0.1", ""))),
        ("Origin", f"http://127.0.0.1:{port}"),
        ("Content-Type", "application/json"),
        ("X-Parc-Token", given),
    ]


def _other_headers(random_: random.Random) -> list[tuple[str, str]]:
    pick = random_.choice
    found = [("Content-Length", pick(LENGTHS))] if random_.random() < 0.5 else []
    if random_.random() < 0.3:
        found.append(("Transfer-Encoding", pick(ENCODINGS)))
    for _ in range(pick((0, 0, 1, 2, 5))):
        found.append((pick(NAMES), pick(VALUES)))
    if random_.random() < 0.03:
        found += [("X", "y")] * pick((200, 3000, 20_000))
    return found


def _head(random_: random.Random, headers: Sequence[tuple[str, str]], framed: bool) -> bytes:
    pick = random_.choice
    usual = framed or random_.random() < 0.5
    method = pick(("GET", "POST")) if usual else pick(METHODS)
    path = pick(PATHS[:-12]) if framed else pick(PATHS)
    first = f"{method} {path} {'HTTP/1.1' if usual else pick(VERSIONS)}"
    end = "\n" if random_.random() < 0.05 else "\r\n"
    lines = [first, *(f"{name}: {value}" for name, value in headers), "", ""]
    return end.join(lines).encode("latin-1", "replace")


def _chunks(random_: random.Random) -> bytes:
    return b"".join(random_.choice(CHUNKS) for _ in range(random_.randrange(5)))


def _changed(random_: random.Random, data: bytes) -> bytes:
    """Some stretches of bytes replaced by others, or by parts of the request itself."""
    for _ in range(random_.randrange(1, 5)):
        start = random_.randrange(len(data) + 1)
        own = random_.randrange(len(data) + 1)
        piece = random_.choice((*GARBAGE, data[own : own + 30], random_.randbytes(9), b""))
        data = data[:start] + piece + data[start + random_.choice((0, 0, 1, 9)) :]
    return data
