"""The commands, a module each: NAME, `arguments(parser)`, `run(arguments) -> exit code`."""

from . import check, compile, estimate, plan, rules, smoke, std

COMMANDS = (compile, plan, estimate, check, smoke, std, rules)
