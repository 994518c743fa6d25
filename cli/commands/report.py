"""write a job's plans as one page that opens anywhere, with charts, proof and source, or as Markdown"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from .job_arguments import add_overrides, add_targets, load_job, output_path

NAME = "report"


def arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("job", metavar="JOB", help="a job file")
    output = "the page, or with --markdown the text; JOB.html, or standard output"
    add("-o", "--output", type=output_path, metavar="FILE", help=output)
    add("--markdown", action="store_true", help="a text for a pull request in place of the page")
    force = "replace a file that parc did not write, and draw a page that is up to date again"
    add("--force", action="store_true", help=force)
    add_targets(parser)
    add_overrides(parser)


def run(arguments: Namespace) -> int:
    job = load_job(arguments)
    from parc.report.html import OURS, report_html
    from parc.report.markdown import OURS_MARKDOWN, report_markdown

    from ..api import plan_targets, target_names
    from ..kept_page import compiled_page, kept_page
    from ..printing.terminal import print_diagnostics, print_text, progress
    from ..writing.receipts import remember
    from ..writing.single_file import refuse, replace

    output = arguments.output
    if output is None and not arguments.markdown:
        output = Path(f"{Path(arguments.job).stem}.html")
    mark = OURS_MARKDOWN if arguments.markdown else OURS
    if output is not None:
        refuse(output, lambda text: text.startswith(mark), arguments.force)
    asked = target_names(job, arguments.target)
    if output and not arguments.markdown and not arguments.force and kept_page(output, job, asked):
        print_text(f"{output}: up to date")
        return 0
    if (
        output
        and not arguments.markdown
        and not arguments.force
        and (kept := compiled_page(job, asked))
    ):
        page, text = kept
        replace(output, text)
        remember(output, text.encode())
        print_text(f"{output}: copied from {page}, which shows this job")
        return 0
    planned = plan_targets(job, arguments.target, progress, keep=not arguments.markdown, fewer=True)
    print_diagnostics(planned.diagnostics())
    if not planned.plans:
        return 1
    text = report_markdown(planned) if arguments.markdown else report_html(planned)
    if output is None:
        print_text(text.rstrip("\n"))
        return 0
    replace(output, text)
    if not arguments.markdown:
        remember(output, text.encode())
    print_text(
        f"{output}: {len(text.encode()) / 1e3:,.0f} KB, opens in any browser without a network"
        if not arguments.markdown
        else f"{output}: written"
    )
    return 0
