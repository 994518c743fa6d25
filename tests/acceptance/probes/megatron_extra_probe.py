"""Command lines -> what Megatron-LM's own argument parser says of each, as JSON: nothing, or its complaint.

python megatron_extra_probe.py LINES.json OUT.json
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys

import megatron_stand_ins as stand_ins

stand_ins.before_import()

from megatron.training import arguments  # noqa: E402


def complaint(parser: argparse.ArgumentParser, words: list[str]) -> str:
    printed = io.StringIO()
    try:
        with contextlib.redirect_stderr(printed):
            parser.parse_args(words)
    except SystemExit:
        return printed.getvalue().strip().splitlines()[-1]
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


if __name__ == "__main__":
    stand_ins.IMPORTING.close()
    parser = arguments.add_megatron_arguments(argparse.ArgumentParser())
    with open(sys.argv[1]) as lines:
        found = [complaint(parser, words) for words in json.load(lines)]
    with open(sys.argv[2], "w") as out:
        json.dump(found, out)
