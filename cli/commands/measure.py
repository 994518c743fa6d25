"""time kernels, links and network of a cluster, and write them as a file to import"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from parc.dsl.diagnostics import Diagnostic, JobError

from .. import codes
from .job_arguments import add_json, output_path
from .smoke import at_least

if TYPE_CHECKING:
    from parc.calibrate.probe.batch import Names

NAME = "measure"
MINUTES = 5.0


def arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    output = "the .par file to write; what belongs to it is named after it"
    add("-o", "--output", required=True, type=output_path, metavar="FILE", help=output)
    where = parser.add_mutually_exclusive_group()
    nodes = "write a batch script for N nodes, and the probe beside it; without it, this machine is probed"
    where.add_argument("--nodes", type=at_least(1), metavar="N", help=nodes)
    where.add_argument(
        "--rows", type=Path, metavar="FILE", help="read what a probe has written, and start none"
    )
    where.add_argument("--cpu", action="store_true", help="leave GPUs alone: a try, small and slow")
    add("--gpus-per-node", type=at_least(1), metavar="G", help="with --nodes: GPUs of each")
    add("--procs", type=at_least(1), metavar="N", help="with --cpu: processes; 2 unless given")
    add("--minutes", type=minutes, default=MINUTES, metavar="M", help=f"{MINUTES:g} unless given")
    python = "a Python that has PyTorch; parc's own unless given, with --nodes python3"
    add("--python", metavar="PATH", help=python)
    add("--force", action="store_true", help="replace files that parc did not write")
    add_json(parser)


def minutes(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found <= 24 * 60:
        raise ArgumentTypeError(f"expected minutes up to a day, not `{text}`")
    return found


def run(arguments: Namespace) -> int:
    _refuse_unused(arguments)
    from parc.calibrate.probe.batch import Names
    from parc.calibrate.site_file import is_ours

    from ..writing.single_file import refuse

    refuse(arguments.output, is_ours, arguments.force, [arguments.rows] if arguments.rows else [])
    names = Names(arguments.output)
    if arguments.nodes:
        return _write_batch(arguments, names)
    if arguments.rows is None:
        _probe(arguments, Path(names.rows))
    return _write_blocks(arguments, arguments.rows or Path(names.rows))


def _refuse_unused(arguments: Namespace) -> None:
    """Options that would do nothing beside the others, and the one that --nodes needs."""
    wrong = [
        ("--gpus-per-node belongs to --nodes", arguments.gpus_per_node and not arguments.nodes),
        ("--procs belongs to --cpu", arguments.procs and not arguments.cpu),
        ("--rows starts nothing, so --python is not needed", arguments.rows and arguments.python),
        ("--nodes needs --gpus-per-node", arguments.nodes and not arguments.gpus_per_node),
        ("-o names a file that does not end in .par", arguments.output.suffix != ".par"),
        (
            "-o has a character that no batch script can say",
            arguments.nodes and not arguments.output.name.isprintable(),
        ),
    ]
    found = [Diagnostic(codes.USAGE, message) for message, is_wrong in wrong if is_wrong]
    if found:
        raise JobError(found)


def _probe(arguments: Namespace, rows: Path) -> None:
    from parc.calibrate.probe.local_run import run_probe

    from ..writing.single_file import refuse

    refuse(rows, lambda text: True, arguments.force)

    options = ["--minutes", f"{arguments.minutes:g}"]
    if arguments.cpu:
        options += ["--cpu", "--procs", str(arguments.procs or 2)]
    run_probe(arguments.python or sys.executable, rows, options)


def _write_batch(arguments: Namespace, names: Names) -> int:
    from parc.calibrate.probe.batch import batch_files, is_our_file

    from ..printing.probe_report import batch_json, batch_text
    from ..printing.terminal import print_json, print_text
    from ..writing.single_file import refuse, replace

    given = (arguments.nodes, arguments.gpus_per_node, arguments.minutes)
    files = batch_files(names, *given, arguments.python or "python3")
    for path in files:
        refuse(Path(path), is_our_file, arguments.force)
    for path, text in files.items():
        replace(Path(path), text)
    if arguments.json:
        print_json(batch_json(names))
    else:
        print_text(batch_text(names))
    return 0


def _write_blocks(arguments: Namespace, rows: Path) -> int:
    from parc.calibrate.probe.measured import measured
    from parc.calibrate.probe.rows import read_probe
    from parc.calibrate.probe.site_blocks import blocks_text

    from ..printing.probe_report import probe_json, probe_text
    from ..printing.terminal import print_diagnostics, print_json, print_text
    from ..writing.single_file import replace

    probe = read_probe(rows)
    found = measured(probe)
    print_diagnostics((*probe.notes, *found.warnings))
    changed = replace(arguments.output, blocks_text(found, arguments.output.name))
    if arguments.json:
        print_json(probe_json(found, arguments.output, changed))
    else:
        print_text(probe_text(found, arguments.output, changed))
    return 1 if found.warnings else 0
