"""serve an editor over standard input and output, in the Language Server Protocol"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from parc.dsl.diagnostics import Diagnostic, JobError

from .. import codes

NAME = "lsp"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--stdio", action="store_true", help="what is done anyway; some editors pass it"
    )


def run(arguments: Namespace) -> int:
    import parc

    try:
        from parc.lsp.server import serve
    except ModuleNotFoundError as error:
        if error.name not in ("pygls", "lsprotocol"):
            raise
        help = "install parc with its extra `lsp`, as in pip install './parc[lsp]'"
        missing = Diagnostic(codes.NO_EXTRA, f"`parc lsp` needs `{error.name}`", help=help)
        raise JobError([missing]) from None
    return serve(parc.__version__, _judge, (sys.executable, "-m", "parc.solved_lines"), _fault)


def _fault(error: BaseException) -> str:
    """Writes the report of an exception that nothing expects, and says where it is."""
    from parc.fault import told

    found = told(error, sys.argv[1:])
    return f"{found.message}; {found.help}"


def _judge(path: str, text: str) -> Sequence[Diagnostic]:
    """The complaints of `parc check` about a text."""
    from parc.checking import checked

    return checked(path, text=text).diagnostics
