"""The commands, a module each: NAME, `arguments(parser)`, `run(arguments) -> exit code`."""

from . import (
    calibrate,
    check,
    compile,
    completion,
    estimate,
    fmt,
    import_,
    init,
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
    init,
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
    completion,
)
