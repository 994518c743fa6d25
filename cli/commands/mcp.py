"""serve plan, estimate, explain, check, lint and import to agents, in the Model Context Protocol"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace

from parc.dsl.diagnostics import Diagnostic, JobError

from .. import codes
from .process_bounds import add_bounds, refuse_long_folder

NAME = "mcp"
#: Packages of the extra.
_EXTRA = ("mcp", "mcp_types")


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--root",
        default=".",
        metavar="DIR",
        help="the folder whose files may be named; no other file is read. The current one unless given",
    )
    add_bounds(parser, seconds=60)
    parser.epilog = "It speaks the protocol over standard input and output: a client starts it."


def run(arguments: Namespace) -> int:
    import parc

    try:
        from ..mcp.server import Service, serve
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in _EXTRA:
            raise
        help = "install parc with its extra `mcp`, as in pip install './parc[mcp]'"
        missing = Diagnostic(
            codes.NO_EXTRA, f"`parc mcp` needs the package `{error.name}`", help=help
        )
        raise JobError([missing]) from None
    folder = os.path.realpath(arguments.root)
    if not os.path.isdir(folder):
        raise JobError([Diagnostic(codes.NOT_SERVED, f"there is no folder `{arguments.root}`")])
    refuse_long_folder()
    serve(Service(folder, arguments.seconds, arguments.memory * 2**20, parc.__version__))
    return 0
