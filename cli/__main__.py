"""The command line: arguments -> one command -> exit code (0 fine, 1 findings, 2 wrong usage or input)."""

import argparse
import gc
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

FINE, FINDINGS, WRONG, INTERRUPTED = 0, 1, 2, 130
#: New objects between two garbage collections. With Python's default of 700, collections take a tenth of the
#: time of a command, most of it over modules, which stay. The largest example makes fewer than this.
OBJECTS = 500_000


class _Version(argparse.Action):
    """Prints the version; looking it up takes a while, so only when it is asked for."""

    def __call__(self, *_: object, **__: object) -> NoReturn:
        import parc

        print(f"parc {parc.__version__}")
        sys.exit(FINE)


def parser() -> argparse.ArgumentParser:
    from parc.commands import COMMANDS

    root = argparse.ArgumentParser(
        prog="parc",
        description="Compile a training job into its best parallel layout, and into the files that run it.",
        epilog="exit codes: 0 fine, 1 findings or no feasible layout, 2 wrong usage or unreadable input",
    )
    root.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    subparsers = root.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        summary = (command.__doc__ or "").strip().splitlines()[0]
        sub = subparsers.add_parser(command.NAME, help=summary, description=summary)
        command.arguments(sub)
        sub.set_defaults(run=command.run)
    return root


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; argparse itself exits with 2 on wrong usage."""
    signals: list[int] = []
    try:
        with _interruptions(signals):
            return _run(argv)
    except BrokenPipeError:
        # The reader of a pipe has closed it, as in `parc std | head`: flushing at exit must not fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE
    except BaseException as error:
        if not signals and not isinstance(error, KeyboardInterrupt):
            raise
        print("interrupted", file=sys.stderr)
        return INTERRUPTED


@contextmanager
def _interruptions(signals: list[int]) -> Iterator[None]:
    """Records Ctrl-C in `signals`: a library that is interrupted while it loads may raise an ImportError
    in place of KeyboardInterrupt."""

    def note(number: int, frame: object) -> NoReturn:
        signals.append(number)
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _split(argv: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Arguments of parc, and those after `--`, which `parc lint` and `parc import` pass to the scripts."""
    if "--" not in argv or argv[0] not in ("lint", "import"):
        return argv, ()
    index = argv.index("--")
    return argv[:index], argv[index + 1 :]


def _run(argv: Sequence[str] | None) -> int:
    """Parses and runs; imports here, not at the top, since loading takes long enough to be interrupted."""
    gc.set_threshold(OBJECTS)
    from parc.dsl.diagnostics import JobError

    own, script = _split(sys.argv[1:] if argv is None else argv)
    arguments = parser().parse_args(own)
    arguments.script = script
    try:
        code = int(arguments.run(arguments))
        sys.stdout.flush()
        return code
    except JobError as error:
        from parc.printing.terminal import print_diagnostics

        print_diagnostics(error.diagnostics)
        return WRONG


if __name__ == "__main__":
    sys.exit(main())
