"""The commands, a module each: NAME, `arguments(parser)`, `run(arguments) -> exit code`."""

from . import (
    calibrate,
    check,
    compare,
    compile,
    estimate,
    explain,
    import_,
    lint,
    measure,
    plan,
    rules,
    smoke,
    std,
    trials,
)

COMMANDS = (
    compile,
    plan,
    explain,
    compare,
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
