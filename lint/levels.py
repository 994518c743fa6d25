"""The levels of a finding, as `--fail-on` and a project's `fail-on` name them, the lowest first."""

LEVELS = ("info", "warning", "error", "never")
