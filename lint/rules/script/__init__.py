"""The text of scripts and configs: cut commands, placeholders, newlines, digits."""

from . import (
    cut_command,
    empty_layout,
    octal_job_id,
    placeholder,
    positional_count,
    script_newlines,
    unreadable_config,
)

MODULES = (
    octal_job_id,
    empty_layout,
    cut_command,
    placeholder,
    positional_count,
    script_newlines,
    unreadable_config,
)
