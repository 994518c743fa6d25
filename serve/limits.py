"""Limits of a server: sizes in bytes, times in seconds, numbers of requests at once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """The defaults suit one person at one page; nothing that the page itself does comes near them."""

    #: Of the body of a request. A job file has as many at most.
    body_bytes: int = 256 * 1024
    #: Of its head.
    head_bytes: int = 32 * 1024
    #: From the opening of a connection to the end of its request's head.
    head_seconds: float = 5.0
    #: Without the token: from the opening of a connection to the end of the reading of its answer.
    stranger_seconds: float = 10.0
    #: With it: from the end of the head to that of the body, and from the answer to the end of its reading.
    body_seconds: float = 10.0
    answer_seconds: float = 10.0
    #: Of a plan, of two that are compared, or of a zip: then its process is killed.
    solve_seconds: float = 20.0
    #: Of what is asked about a text as it is typed.
    edit_seconds: float = 5.0
    #: Bytes that one process may take for its data; a machine that runs out of memory ends others too.
    process_bytes: int = 4 * 2**30
    #: Processes that solve, and requests that wait for one.
    solving: int = 2
    solves_waiting: int = 4
    #: Processes that answer about texts, and requests that wait for one.
    editing: int = 1
    edits_waiting: int = 16
    #: Connections that have not shown the token; for one that is one too many, the oldest is closed.
    strangers: int = 256
    #: All connections, the owner's included; one that is one too many is told that the server is busy.
    connections: int = 384
    #: Reports that are kept for the frames that show them.
    reports: int = 16
