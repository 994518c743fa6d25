"""A user's layout of a job on a target -> its `Estimate`; what solves is not loaded for it."""

from collections.abc import Mapping

from ...dsl.diagnostics import Diagnostic, JobError
from ...dsl.job import Job
from ..algebra import LIMIT
from ..case import Case
from ..codes import MODEL_TOO_LARGE, NO_CHECKPOINTS
from ..model import parameters
from ..plan import Estimate
from ..pricing.estimate import estimate_layout
from ..stages import refuse_stages
from ..target import Target
from .complete_layout import complete, unsearched


def estimate(job: Job, target: Target, layout: Mapping[str, int | str]) -> Estimate:
    """The price of one layout given by its variables, as numbers or in the language's words. Omitted
    variables take their neutral value; those that are `free` in `variables.py` take the best feasible value,
    or where the constraints leave none, those of the fastest layout that fits into memory, or of the smallest
    if none fits.

    Raises JobError with every rule of the framework that the layout breaks, for names that are not variables
    and values that they do not take, and for values that the search does not look at.
    """
    refuse(job, target)
    case = Case(job, target)
    decided = complete(case, layout)
    if errors := list(unsearched(case, decided)):
        raise JobError(errors)
    return estimate_layout(case, decided)


def refuse(job: Job, target: Target) -> None:
    """Raises JobError for a job that the target cannot express, and for one too large to be priced."""
    refuse_stages(job)
    errors = [each for each in target.refuses(job) if each.severity == "error"]
    if errors:
        raise JobError(errors)
    failing = job.span("cluster", "gpu_mtbf")
    own = job.cluster.gpu_mtbf is not None and not (failing and failing.standard)
    if own and not job.saves(target.name):
        message = f"{target.name} writes no checkpoints: after a failure a run would begin again"
        span = job.span("target", target.name, "save")
        help = "leave `save` out, or the cluster's `gpu_mtbf`"
        raise JobError([Diagnostic(NO_CHECKPOINTS, message, span, help=help)])
    count = parameters.total(job.model, seq_len=job.train.seq_len)
    if count > LIMIT:
        message = f"the model has {count:.2g} parameters, and {LIMIT:.2g} is the limit"
        help = "its widths, layers and experts multiply: check them"
        raise JobError([Diagnostic(MODEL_TOO_LARGE, message, job.span("model"), help=help)])
