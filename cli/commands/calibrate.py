"""fit a cluster's few parameters to logs of real runs, and write them as a file to import"""

from argparse import ArgumentParser, ArgumentTypeError, Namespace

from parc.dsl.diagnostics import Diagnostic, JobError, did_you_mean

from .estimate import layout
from .job_arguments import add_json, add_overrides, add_stage, load_job, output_path

NAME = "calibrate"


def arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "log", nargs="+", metavar="LOG", help="what one run printed, or a folder of trials that ran"
    )
    add("--job", required=True, metavar="JOB", help="the job file that ran")
    output = "the .par file to write"
    add("-o", "--output", required=True, type=output_path, metavar="FILE", help=output)
    add(
        "--layout",
        action="append",
        default=[],
        type=layout_of_log,
        metavar="[LOG:]NAME=VALUE,...",
        help="what a log leaves open of its layout, as in `parc estimate`; of all logs unless one is named",
    )
    add("--force", action="store_true", help="replace a file that parc did not write")
    add_overrides(parser)
    add_stage(parser)
    add_json(parser)


def layout_of_log(text: str) -> tuple[str, dict[str, int]]:
    """`run.log:tp=8,pp=2` as the log's name, empty for all of them, and its degrees."""
    log, _, degrees = text.rpartition(":")
    found = layout(degrees)
    if not found:
        raise ArgumentTypeError(f"`{text}` names no degree")
    return log, found


def run(arguments: Namespace) -> int:
    job = load_job(arguments)
    from parc.calibrate.calibration import calibrate
    from parc.calibrate.site_file import is_ours, site_text

    from ..printing.calibration_report import calibration_json, calibration_text, summary
    from ..printing.terminal import print_diagnostics, print_json, print_text, progress
    from ..writing.single_file import refuse, replace

    refuse(arguments.output, is_ours, arguments.force, (arguments.job, *arguments.log))
    layouts = _layouts(arguments)
    with progress("calibrating"):
        result = calibrate(job, arguments.log, layouts)
    print_diagnostics(result.warnings)
    text = site_text(job, result.site, str(arguments.output), summary(result))
    changed = replace(arguments.output, text)
    if arguments.json:
        print_json(calibration_json(result, str(arguments.output), changed))
    else:
        print_text(calibration_text(result, str(arguments.output), changed))
    return 0


def _layouts(arguments: Namespace) -> dict[str, dict[str, int]]:
    """Degrees by log; those of a named log come on top of those for all."""
    from parc.calibrate.codes import LAYOUT

    common = {
        name: value for log, found in arguments.layout if not log for name, value in found.items()
    }
    layouts = {"": common}
    for log, found in arguments.layout:
        if log and log not in arguments.log:
            help = did_you_mean(log, arguments.log) or f"the logs are {', '.join(arguments.log)}"
            raise JobError(
                [
                    Diagnostic(
                        LAYOUT, f"--layout names `{log}`, which is not one of the logs", help=help
                    )
                ]
            )
        layouts[log] = {**layouts.get(log, common), **found}
    return layouts
