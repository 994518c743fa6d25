"""Bytes of an editor -> JSON-RPC messages, bounded in size; what is none is refused as the protocol says."""

from __future__ import annotations

import json
import re
from typing import IO, Any

from pygls.exceptions import (
    JsonRpcInvalidRequest,
    JsonRpcParseError,
    JsonRpcServerNotInitialized,
)

#: A message may be so large; job files are far smaller.
LARGEST_BYTES = 64 * 2**20
#: A line of a header, and the lines of one.
LONGEST_LINE, MOST_LINES = 4096, 32
_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*(\d{1,9})[ \t]*", re.IGNORECASE)

Message = dict[str, Any]


class Unframed(Exception):
    """Where the next message begins is not known."""


def next_body(requests: IO[bytes]) -> bytes | None:
    """The bytes of the next message; None at the end.

    Raises `Unframed` for a header without a length, and for one beyond `LARGEST_BYTES`.
    """
    lines: list[bytes] = []
    while (line := requests.readline(LONGEST_LINE)).strip():
        lines.append(line.strip())
        if not line.endswith(b"\n") or len(lines) > MOST_LINES:
            raise Unframed("the header of a message does not end")
    if not line:
        return None
    lengths = [int(found[1]) for each in lines if (found := _LENGTH.fullmatch(each))]
    if len(lengths) != 1:
        raise Unframed("a message has no Content-Length that is a number")
    if lengths[0] > LARGEST_BYTES:
        raise Unframed(f"a message of {lengths[0]} bytes is above {LARGEST_BYTES}")
    body = requests.read(lengths[0])
    return body if len(body) == lengths[0] else None


def message_of(body: bytes) -> Message:
    """The message in these bytes. Raises `JsonRpcException`: it is no JSON, or no message."""
    try:
        found = json.loads(body.decode())
        if b"\\u" in body:
            json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise JsonRpcParseError(f"no JSON: {str(error)[:200]}") from None
    if not isinstance(found, dict) or found.get("jsonrpc") != "2.0":
        raise JsonRpcInvalidRequest("no message of JSON-RPC 2.0")
    if "id" in found and id_of(found) is None:
        raise JsonRpcInvalidRequest("an id is a number or a text")
    if "method" in found:
        if not isinstance(found["method"], str):
            raise JsonRpcInvalidRequest("a method is a text")
    elif "id" not in found or not found.keys() & {"result", "error"}:
        raise JsonRpcInvalidRequest("neither a method nor an answer")
    return found


def id_of(message: Message) -> int | str | None:
    """The id of a request; None for a notification."""
    found = message.get("id")
    return found if isinstance(found, int | str) and not isinstance(found, bool) else None


def check_order(method: str, began: bool, ended: bool) -> None:
    """Raises `JsonRpcException` for a method before `initialize`, a second one, and any behind `shutdown`."""
    if method == "exit":
        return
    if ended:
        raise JsonRpcInvalidRequest("the server was shut down")
    if began and method == "initialize":
        raise JsonRpcInvalidRequest("the server was initialized before")
    if not began and method != "initialize":
        raise JsonRpcServerNotInitialized("`initialize` comes first")
