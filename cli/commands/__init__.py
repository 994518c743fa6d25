"""The commands, a module each: NAME, `arguments(parser)`, `run(arguments) -> exit code`."""

from . import calibrate, check, compile, estimate, import_, lint, plan, rules, smoke, std, trials

COMMANDS = (compile, plan, estimate, trials, calibrate, check, lint, import_, smoke, std, rules)
