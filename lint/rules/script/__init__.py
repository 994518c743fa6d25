"""The text of scripts and configs: cut commands, placeholders, newlines, digits."""

from . import (
    cut_command,
    debug_left_on,
    empty_layout,
    guard_fires,
    hidden_exit,
    hostfile_line,
    loose_continue,
    missing_file,
    not_exported,
    octal_job_id,
    placeholder,
    positional_count,
    quoted_list,
    redirect_folder,
    script_newlines,
    unreadable_config,
)

MODULES = (
    octal_job_id,
    empty_layout,
    guard_fires,
    cut_command,
    placeholder,
    positional_count,
    script_newlines,
    unreadable_config,
    debug_left_on,
    missing_file,
    not_exported,
    quoted_list,
    redirect_folder,
    hostfile_line,
    hidden_exit,
    loose_continue,
)
