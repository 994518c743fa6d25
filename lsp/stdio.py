"""A server over standard input and output: each message of an editor is handled, or refused and answered."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import BinaryIO

from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInternalError,
    JsonRpcInvalidParams,
    JsonRpcParseError,
)
from pygls.io_ import StdoutWriter
from pygls.lsp.server import LanguageServer

from .messages import Message, Unframed, check_order, id_of, message_of, next_body

#: An exception that nothing expects -> where it was reported.
Fault = Callable[[BaseException], str]

_LOG = logging.getLogger("pygls")


class _OneLine(logging.Formatter):
    """An editor's log gets a line for each event; the trace of a fault goes to its report."""

    def __init__(self, fault: Fault) -> None:
        super().__init__()
        self.fault = fault

    def format(self, record: logging.LogRecord) -> str:
        line = record.getMessage().partition("\n")[0][:300]
        error = record.exc_info[1] if record.exc_info else None
        if error is None:
            return f"parc lsp: {line}"
        if isinstance(error, JsonRpcException | BrokenPipeError):
            return f"parc lsp: {line}: {str(error)[:300]}"
        return f"parc lsp: {line}: {self.fault(error)}"


def run(server: LanguageServer, requests: BinaryIO, answers: BinaryIO, fault: Fault) -> int:
    """Answers until the editor goes; returns the exit status, 1 where it goes without `shutdown`."""
    lines = logging.StreamHandler()
    lines.setFormatter(_OneLine(fault))
    lines.setLevel(logging.WARNING)
    _LOG.addHandler(lines)
    _LOG.propagate = False
    server.protocol.set_writer(StdoutWriter(answers))
    try:
        return asyncio.run(_listen(server, requests))
    except BrokenPipeError:
        return 0
    except SystemExit as left:
        return int(left.code or 0)
    finally:
        server.shutdown()  # type: ignore[no-untyped-call]


async def _listen(server: LanguageServer, requests: BinaryIO) -> int:
    loop = asyncio.get_running_loop()
    while True:
        try:
            body = await loop.run_in_executor(server.thread_pool, next_body, requests)
        except Unframed as error:
            _refuse(server, None, JsonRpcParseError(str(error)))
            return 1
        if body is None:
            return 0
        _receive(server, body)


def _receive(server: LanguageServer, body: bytes) -> None:
    """Handles one message; a request that cannot be is answered, and so is what is no message."""
    try:
        message = message_of(body)
    except JsonRpcException as error:
        _refuse(server, None, error)
        return
    try:
        _handle(server, message)
    except JsonRpcException as error:
        _turn_down(server, message, error)
    except Exception as error:
        _LOG.exception("a message of %d bytes was not handled", len(body))
        _turn_down(server, message, JsonRpcInternalError(type(error).__name__))


def _handle(server: LanguageServer, message: Message) -> None:
    protocol, method = server.protocol, message.get("method")
    if method is not None:
        check_order(method, _initialized(server), protocol._shutdown)
        if protocol.get_message_type(method) is None:
            message = {"params": None, **message}
    found = protocol.structure_message(message)
    if isinstance(found, types.CancelNotification) and not isinstance(found.params.id, int | str):
        raise JsonRpcInvalidParams("an id is a number or a text")
    if isinstance(found, types.InitializeRequest) and found.params.capabilities.general:
        # An editor may prefer other units; every editor knows those of UTF-16, in which parc counts.
        found.params.capabilities.general.position_encodings = None
    protocol.handle_message(found)


def _initialized(server: LanguageServer) -> bool:
    try:
        return server.workspace is not None
    except RuntimeError:
        return False


def _turn_down(server: LanguageServer, message: Message, error: JsonRpcException) -> None:
    """Requests are answered; notifications and answers are not, whatever they are."""
    request = id_of(message)
    if request is not None and "method" in message:
        _refuse(server, request, error)
    else:
        _LOG.warning("ignored `%s`: %s", message.get("method", "an answer"), error)


def _refuse(server: LanguageServer, request: int | str | None, error: JsonRpcException) -> None:
    _LOG.warning("refused: %s", error)
    answer = {"code": error.code, "message": error.message}
    server.protocol._send_data({"jsonrpc": "2.0", "id": request, "error": answer})
