"""The commands, a module each: NAME, `arguments(parser)`, `run(arguments) -> exit code`."""

from . import (
    calibrate,
    check,
    compile,
    estimate,
    import_,
    lint,
    measure,
    plan,
    rules,
    smoke,
    std,
    sweep,
    trials,
)

COMMANDS = (
    compile,
    plan,
    sweep,
    estimate,
    measure,
    trials,
    calibrate,
    check,
    lint,
    import_,
    smoke,
    std,
    rules,
)
