"""Launch files against the job that they should run, and against its plan."""

from . import job_drift, plan_drift, stack_drift

MODULES = (
    job_drift,
    plan_drift,
    stack_drift,
)
