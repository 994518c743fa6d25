"""Words that fit where a shell's cursor stands."""

from argparse import ArgumentParser, _SubParsersAction

import argcomplete
from argcomplete.completers import FilesCompleter

#: Arguments that name jobs.
_JOBS = ("job", "jobs")


def complete(root: ArgumentParser) -> None:
    """Answers the shell and ends the process; jobs are files of `.par`, in folders."""
    for group in root._actions:
        for command in group.choices.values() if isinstance(group, _SubParsersAction) else ():
            for action in command._actions:
                if action.dest in _JOBS:
                    vars(action)["completer"] = FilesCompleter((".par",))
    argcomplete.autocomplete(root, always_complete_options=False)
