"""The commands, one module each: NAME, `arguments(parser)`, `run(arguments) -> exit code`; the docstring is its help."""

from . import check, compile, estimate, plan, rules, std

COMMANDS = (compile, plan, estimate, check, std, rules)
