"""begin a job: from a Hugging Face model and a number of GPUs to a file that compiles"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from .job_arguments import add_json, output_path

if TYPE_CHECKING:
    from ..new_job.first_job import FirstJob

NAME = "init"
JOB = Path("job.par")
#: Stated here, so that the command line waits for no backend.
TUNES = ("full", "lora", "qlora")
LAUNCHERS = ("slurm", "kubernetes", "hosts", "skypilot", "ray")


def arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    model = parser.add_mutually_exclusive_group()
    named = "such as Qwen/Qwen3-8B: a model of `parc std`, or of Hugging Face's cache"
    model.add_argument("--model", metavar="NAME", help=named)
    add("named", nargs="?", metavar="MODEL", help="the same as --model")
    hub = "a config.json of Hugging Face, or the folder that holds it"
    model.add_argument("--hf", metavar="PATH", help=hub)
    where = parser.add_mutually_exclusive_group()
    gpus = "how many of which type, such as 64xH100; as many as the model needs unless given"
    where.add_argument("--gpus", metavar="NxTYPE", help=gpus)
    there = "the GPUs that nvidia-smi, SLURM and its topology name here"
    where.add_argument("--detect", action="store_true", help=there)
    tuning = (
        "fine-tune: all weights, or adapters beside 16-bit or 4-bit ones; full for Instruct models"
    )
    add("--tune", choices=TUNES, metavar="WHAT", help=f"{tuning} ({', '.join(TUNES)})")
    data = "a file or folder to train on; targets that read another form of data are left out"
    add("--data", metavar="PATH", help=data)
    target = "only this target; may be repeated; all that train the model unless given"
    add("--target", action="append", metavar="T", help=target)
    launch = "what starts the job; SLURM as a comment unless given"
    add("--launch", choices=LAUNCHERS, metavar="L", help=f"{launch}: {', '.join(LAUNCHERS)}")
    add("-o", "--output", type=output_path, default=JOB, metavar="JOB", help=f"{JOB} unless given")
    add("--force", action="store_true", help="replace a job file that is there")
    add("--plan", action="store_true", help="solve the job as well, and print its plan")
    add_json(parser)
    parser.epilog = "what is left out is asked for, where there is a terminal"


def run(arguments: Namespace) -> int:
    from ..new_job.asked import asked_job, check_targets
    from ..writing.job_file import refuse_existing, write_job

    refuse_existing(arguments.output, arguments.force)
    check_targets(arguments.target)
    job, text = asked_job(arguments)
    write_job(arguments.output, text, arguments.force)
    _tell(arguments, job)
    return _plan(arguments) if arguments.plan else 0


def _tell(arguments: Namespace, job: FirstJob) -> None:
    from ..printing.first_job_text import first_job_json, first_job_text
    from ..printing.terminal import print_diagnostics, print_json, print_text

    if arguments.json and not arguments.plan:
        print_json(first_job_json(job, arguments.output))
    if job.counted.warning:
        print_diagnostics([job.counted.warning])
    for each in job.model.unsaid:
        print(f"not in the job: {each}", file=sys.stderr)
    if not arguments.json:
        print_text(first_job_text(job, arguments.output))


def _plan(arguments: Namespace) -> int:
    from . import plan

    parser = ArgumentParser()
    plan.arguments(parser)
    wanted = [str(arguments.output), *(["--json"] if arguments.json else [])]
    return plan.run(parser.parse_args(wanted))
