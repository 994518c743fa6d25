"""The command line: arguments -> one command -> exit code.

0 fine, 1 findings, 2 wrong usage or input, 3 a fault of parc, 130 interrupted.
"""

import argparse
import gc
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

FINE, FINDINGS, WRONG, FAULT, INTERRUPTED = 0, 1, 2, 3, 130
#: New objects between two garbage collections. With Python's default of 700, collections take a tenth of the
#: time of a command, most of it over modules, which stay. The largest example makes fewer than this.
OBJECTS = 500_000
#: Set by what `parc completion` prints, when a shell asks for words that fit.
COMPLETION = "_ARGCOMPLETE"


class _Version(argparse.Action):
    """Prints the version; looking it up takes a while, so only when it is asked for."""

    def __call__(self, *_: object, **__: object) -> NoReturn:
        import parc

        print(f"parc {parc.__version__}")
        sys.exit(FINE)


def parser(command: str = "") -> argparse.ArgumentParser:
    """The parser of one command, or of all where `command` names none."""
    from parc.commands import modules
    from parc.dsl.inputs.docstrings import docstring

    root = _Root(
        prog="parc",
        description="Compile a training job into its best parallel layout, and into the files that run it.",
        epilog="exit codes: 0 fine, 1 findings or no feasible layout, 2 wrong usage or unreadable input, "
        "3 a fault of parc",
    )
    root.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    subparsers = root.add_subparsers(
        title="commands", metavar="COMMAND", required=True, parser_class=_Command
    )
    for module in modules(command):
        summary = docstring(module).splitlines()[0]
        sub = subparsers.add_parser(module.NAME, help=summary, description=summary)
        module.arguments(sub)
        sub.set_defaults(run=module.run)
    return root


class _Command(argparse.ArgumentParser):
    """Complains as the rest of parc does, with a line to type."""

    def error(self, message: str) -> NoReturn:
        from parc.foreign_words import wrong_usage
        from parc.printing.terminal import print_diagnostics

        print_diagnostics([wrong_usage(self.prog.split()[-1], message)])
        sys.exit(WRONG)


class _Root(argparse.ArgumentParser):
    """Lists the commands by what a user wants to do."""

    def format_help(self) -> str:
        from parc.commands import TASKS

        (commands,) = (a for a in self._actions if isinstance(a, argparse._SubParsersAction))
        listed = {each.dest: each for each in commands._choices_actions}
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        for task, names in TASKS.items():
            formatter.start_section(task)
            typed = (name.rstrip("_") for name in names)
            formatter.add_arguments(listed[name] for name in typed if name in listed)
            formatter.end_section()
        formatter.start_section("options")
        formatter.add_arguments(a for a in self._actions if a is not commands)
        formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()


def _refuse_unknown(word: str) -> None:
    """Raises `JobError` for a word that is neither a command nor an option."""
    from parc.codes import USAGE
    from parc.commands import words
    from parc.dsl.diagnostics import Diagnostic, JobError, did_you_mean
    from parc.foreign_words import COMMANDS

    if word in words() or word.startswith("-"):
        return
    message = f"there is no command `{word}`"
    if word.endswith(".par"):
        raise JobError([Diagnostic(USAGE, message, help=f"`parc plan {word}`")])
    line = COMMANDS.get(word.lower())
    help = f"`{line}`" if line else did_you_mean(word, words())
    help = help or "`parc --help` lists the commands"
    raise JobError([Diagnostic(USAGE, message, help=help)])


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; argparse itself exits with 2 on wrong usage."""
    if COMPLETION in os.environ:
        from parc.completion import complete

        complete(parser())
    signals: list[int] = []
    arguments = sys.argv[1:] if argv is None else argv
    try:
        with _interruptions(signals):
            return run_command(arguments)
    except SystemExit:
        raise
    except BaseException as error:
        if signals or isinstance(error, KeyboardInterrupt):
            print("interrupted", *getattr(error, "__notes__", ()), sep="\n", file=sys.stderr)
            return INTERRUPTED
        return _fault(error, arguments)


def _fault(error: BaseException, arguments: Sequence[str]) -> int:
    """Tells an unexpected exception as a fault of parc, and leaves a report."""
    from parc.fault import told
    from parc.printing.streams import tolerant_streams
    from parc.printing.terminal import print_diagnostics

    with tolerant_streams():
        print_diagnostics([told(error, arguments)])
    return FAULT


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


def run_command(argv: Sequence[str]) -> int:
    """Parses and runs; imports here, not at the top, since loading takes long enough to be interrupted."""
    gc.set_threshold(OBJECTS)
    from parc.dsl.diagnostics import JobError
    from parc.printing.streams import tolerant_streams

    if not argv:
        parser().print_help(sys.stderr)
        return WRONG
    own, script = _split(argv)
    with tolerant_streams():
        try:
            _refuse_unknown(own[0])
            arguments, rest = parser(own[0]).parse_known_args(own)
            if rest:
                from parc.foreign_words import unknown_argument

                raise JobError([unknown_argument(own[0], rest)])
            arguments.script = script
            code = int(arguments.run(arguments))
            sys.stdout.flush()
            return code
        except JobError as error:
            from parc.printing.terminal import print_diagnostics

            print_diagnostics(error.diagnostics)
            return WRONG


if __name__ == "__main__":
    sys.exit(main())
