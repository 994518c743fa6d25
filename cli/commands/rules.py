"""list every rule and complaint with its code, title and source"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ..terminal import say, say_json
from .job_arguments import add_json

NAME = "rules"


def arguments(parser: ArgumentParser) -> None:
    add_json(parser)


def run(arguments: Namespace) -> int:
    return 0
