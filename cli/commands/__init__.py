"""The commands, a module each: NAME, `arguments(parser)`, `run(arguments) -> exit code`."""

from . import (
    calibrate,
    check,
    compile,
    estimate,
    fmt,
    import_,
    lint,
    lsp,
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
    estimate,
    measure,
    trials,
    calibrate,
    check,
    fmt,
    lint,
    lsp,
    import_,
    smoke,
    std,
    rules,
)
