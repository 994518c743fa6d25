"""parc's man page, from argparse's parsers: roff that man and groff take without a warning.

`python -m docs.reference.man` writes it to docs/parc.1, which a wheel puts into share/man/man1.
"""

from __future__ import annotations

import re
from pathlib import Path

from docs.reference.parsers import Argument, Command, commands

PAGE = Path(__file__).parents[1] / "parc.1"
#: What a page of the manual ends with: exit codes as cli/__main__.py has them, files and further reading.
_ENDING = (
    (".SH EXIT STATUS", ("0", "fine")),
    ("", ("1", "findings, or no feasible layout")),
    ("", ("2", "wrong usage or unreadable input")),
    ("", ("3", "a fault of parc; a report is left")),
    ("", ("130", "interrupted")),
)


def page() -> str:
    """The page in roff."""
    root, *others = commands()
    lines = ['.TH PARC 1 "" parc "User Commands"', ".SH NAME"]
    lines += [f"parc \\- {_escaped(_lowered(root.summary))}"]
    lines += [".SH SYNOPSIS", *(_synopsis(each) for each in others)]
    lines += [".SH DESCRIPTION", _text(root.summary)]
    lines += [
        _text(
            "`parc init` begins a job, `parc plan` prints its layouts, `parc compile` writes the files."
        )
    ]
    lines += [".SH OPTIONS", *_arguments(root.options), ".SH COMMANDS"]
    for command in others:
        lines += _command(command)
    for head, (status, meaning) in _ENDING:
        lines += [head] * bool(head) + [".TP", f"\\fB{status}\\fR", _text(meaning)]
    lines += [".SH SEE ALSO", _text("`parc COMMAND --help`, `parc rules CODE`, `parc std NAME`")]
    return "\n".join(lines) + "\n"


def _command(command: Command) -> list[str]:
    lines = [f".SS {_escaped(command.synopsis)}", _text(command.summary)]
    lines += _arguments((*command.positional, *command.options))
    return lines + ([".PP", _text(command.epilog)] if command.epilog else [])


def _arguments(of: tuple[Argument, ...]) -> list[str]:
    lines = []
    for argument in of:
        forms = ", ".join(f"\\fB{_escaped(form)}\\fR" for form in argument.forms)
        lines += [".TP", forms, _text(argument.meaning)]
    return lines


def _synopsis(command: Command) -> str:
    return (
        f"\\fB{_escaped(command.words)}\\fR{_escaped(command.synopsis[len(command.words) :])}\n.br"
    )


def _lowered(text: str) -> str:
    return (text[:1].lower() + text[1:]).rstrip(".")


def _text(text: str) -> str:
    """A line of text: what stands in backticks in bold, and no line that roff takes for a request."""
    found = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", _escaped(text))
    return f"\\&{found}" if found.startswith((".", "'")) else found


def _escaped(text: str) -> str:
    """Backslashes and hyphens of a text, which roff would read or print as others."""
    return text.replace("\\", "\\e").replace("-", "\\-")


if __name__ == "__main__":
    PAGE.write_text(page())
