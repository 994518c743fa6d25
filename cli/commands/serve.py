"""show a job in an editor in the browser, with its report beside it, as it is typed"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

from parc.dsl.diagnostics import Diagnostic, JobError
from parc.dsl.inputs.files import reason_of

from .. import codes
from .process_bounds import add_bounds, refuse_long_folder

if TYPE_CHECKING:
    import socket

    from ..served import Opened

NAME = "serve"
#: Where the page is unless told otherwise, so that a link of yesterday still leads to it.
PORT = 8731
#: A page that leads to an address, which is made of letters, digits, hyphens and what stands between them.
_FORWARDING = """<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url=%s">
<title>parc</title>
"""
#: Packages of the extra.
_EXTRA = ("starlette", "uvicorn", "h11")


def arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "job",
        nargs="?",
        metavar="JOB",
        help="a job file, or a link to a page that carries one; a first job unless given",
    )
    add("files", nargs="*", metavar="FILE", help="a file that the job may import; no other is read")
    add(
        "--port",
        type=_port,
        default=PORT,
        metavar="N",
        help=f"{PORT} unless given; 0 takes a free one",
    )
    add_bounds(parser, seconds=20)
    add("--open", action="store_true", help="open the page in the browser")


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise ArgumentTypeError(f"expected a port from 0 to 65535, not `{text}`")
    return int(text)


def run(arguments: Namespace) -> int:
    try:
        from parc.serve.limits import Limits
        from parc.serve.running import Service, serve
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        help = "install parc with its extra `serve`, as in pip install './parc[serve]'"
        missing = Diagnostic(codes.NO_EXTRA, f"`parc serve` needs `{error.name}`", help=help)
        raise JobError([missing]) from None
    from tempfile import TemporaryDirectory

    from ..served import PRELOADED, answer, opened_json

    opened = _opened(arguments)
    opened_json(opened)
    refuse_long_folder()
    limits = Limits(solve_seconds=arguments.seconds, process_bytes=arguments.memory * 2**20)
    service = Service(partial(opened_json, opened), partial(answer, opened), PRELOADED, limits)
    private = TemporaryDirectory(prefix="parc-") if arguments.open else nullcontext()
    with _listening(arguments.port) as place, private as folder:
        serve(place, service, partial(_tell, folder=folder))
    return 0


def _opened(arguments: Namespace) -> Opened:
    """The job and files that the page begins with. Raises `JobError` for a link without a job."""
    from parc.dsl.syntax.sources import MAX_BYTES
    from parc.serve.links import MARK, text_of

    from ..served import FIRST_JOB, FIRST_NAME, Opened

    job = arguments.job
    if job is None:
        return Opened(FIRST_NAME, (), FIRST_JOB)
    if MARK not in job and "://" not in job:
        return Opened(job, (job, *arguments.files), None)
    try:
        return Opened(FIRST_NAME, tuple(arguments.files), text_of(job, MAX_BYTES))
    except ValueError as error:
        said = Diagnostic(codes.NO_LINK, f"the link carries no job: {error}", help="copy it whole")
        raise JobError([said]) from None


def _listening(port: int) -> socket.socket:
    """Raises `JobError` where the port cannot be had."""
    from parc.serve.running import ADDRESS, listening

    try:
        return listening(port)
    except OSError as error:
        message = f"cannot listen at {ADDRESS}:{port}: {reason_of(error)}"
        help = "choose another port with --port; --port 0 takes a free one"
        raise JobError([Diagnostic(codes.NO_PORT, message, help=help)]) from None


def _tell(address: str, folder: str | None) -> None:
    """Prints the address; with a folder, which only its owner may enter, opens a page there that leads to it:
    every user of the machine sees what stands on the command line of a browser."""
    print(f"parc serves {address}", "Ctrl-C ends it", sep="\n", flush=True)
    if folder is None:
        return
    import webbrowser
    from pathlib import Path

    path = Path(folder, "open.html")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(_FORWARDING % address)
    if not webbrowser.open(path.as_uri()):
        print("no browser was found: open the address by hand", file=sys.stderr)
