"""The commands, a module each: NAME, `arguments(parser)`, `run(arguments) -> exit code`."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

#: In the order of the help; `import_` is `parc import`, whose word is Python's.
COMMANDS = (
    "init",
    "compile",
    "plan",
    "explain",
    "compare",
    "sweep",
    "trace",
    "report",
    "estimate",
    "measure",
    "trials",
    "calibrate",
    "check",
    "fmt",
    "lint",
    "lsp",
    "serve",
    "import_",
    "smoke",
    "std",
    "rules",
    "completion",
)


def modules(word: str = "") -> list[ModuleType]:
    """The module of the command `word` alone, which no other is loaded for; all where it is none."""
    named = [name for name in COMMANDS if name.rstrip("_") == word]
    return [import_module(f"{__name__}.{name}") for name in named or COMMANDS]
