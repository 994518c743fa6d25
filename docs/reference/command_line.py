"""The page of every command and its arguments, from argparse's parsers."""

from __future__ import annotations

from docs.reference.parsers import Argument, Command, commands
from docs.tables import markdown

_INTRODUCTION = """# Command line

`parc COMMAND --help` prints the same; `man parc` has it where parc was installed with pip, pipx or uv.
`parc completion bash` (zsh, fish) prints what makes a shell complete commands, options and files.
"""


def page() -> str:
    """The page in Markdown."""
    root, *others = commands()
    index = [(f"[`{each.words}`](#{_anchor(each)})", each.summary) for each in others]
    parts = [_INTRODUCTION, _epilog(root), markdown(("command", "what it does"), index), ""]
    return "\n".join([*parts, *map(_section, others)])


def _anchor(command: Command) -> str:
    return command.words.replace(" ", "-")


def _section(command: Command) -> str:
    parts = [f"## {command.words}", f"{command.summary[:1].upper()}{command.summary[1:]}."]
    parts.append(f"```text\n{command.synopsis}\n```")
    if command.arguments:
        rows = [(_forms(each), each.meaning.replace("|", "\\|")) for each in command.arguments]
        parts.append(markdown(("argument", "meaning"), rows))
    return "\n\n".join([*parts, _epilog(command)])


def _forms(argument: Argument) -> str:
    return ", ".join(f"`{form}`" for form in argument.forms)


def _epilog(command: Command) -> str:
    text = command.epilog
    return f"{text[:1].upper()}{text[1:]}.\n" if text else ""
