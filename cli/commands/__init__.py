"""The commands, a module each: NAME, `arguments(parser)`, `run(arguments) -> exit code`."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

#: What a user wants to do -> the commands for it, in the order of the help; `import_` is `parc import`, whose
#: word is Python's.
TASKS = {
    "start here": ("init", "plan", "compile"),
    "understand a plan": (
        "explain",
        "estimate",
        "compare",
        "report",
        "trace",
        "serve",
        "mcp",
        "sweep",
    ),
    "launch files that exist": ("lint", "import_"),
    "job files": ("check", "fmt", "lsp"),
    "run, measure, plan better": ("smoke", "reshape", "measure", "trials", "calibrate"),
    "look up": ("std", "rules", "completion"),
}
COMMANDS = tuple(name for names in TASKS.values() for name in names)


def words() -> list[str]:
    """The commands as they are typed."""
    return [name.rstrip("_") for name in COMMANDS]


def modules(word: str = "") -> list[ModuleType]:
    """The module of the command `word` alone, which no other is loaded for; all where it is none."""
    named = [name for name in COMMANDS if name.rstrip("_") == word]
    return [import_module(f"{__name__}.{name}") for name in named or COMMANDS]
