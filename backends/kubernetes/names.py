"""Names of a plan's objects, and what Kubernetes takes for one."""

import re

from ...compiler.plan import Plan
from ...dsl.job import Job
from ...dsl.launchers import Kubernetes, Ray
from ..run_folder import mounted_runs

#: RFC 1123: of a label, which names of jobs, claims, namespaces and volumes are.
LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
#: The names of pods, `<job>-<role>-0-<number>-<5 characters>`, are labels too.
LONGEST_JOB = 40
#: Where the files that parc wrote are in a container.
FILES = "/parc"


def settings(job: Job) -> Kubernetes | Ray:
    """The settings of the job's launch, which are of pods."""
    if not isinstance(job.launch, Kubernetes | Ray):
        raise TypeError("the job is launched by something else")
    return job.launch


def operator_of(job: Job) -> str:
    """The operator that makes the pods of `launch kubernetes`."""
    launch = settings(job)
    if not isinstance(launch, Kubernetes):
        raise TypeError("the job is launched by something else")
    return launch.operator


def name(plan: Plan) -> str:
    """The name of the job's object: the one that the job gives it, else made of its own and the target's."""
    launch = plan.job.launch
    if launch is not None and launch.job_name is not None:
        return launch.job_name
    stage = f"-{plan.job.stage}" if plan.job.stage else ""
    text = re.sub(r"[^a-z0-9]+", "-", f"{plan.job.name}{stage}".lower()).strip("-")
    longest = LONGEST_JOB - len(plan.target) - 1
    return f"{text[:longest].strip('-') or 'job'}-{plan.target}"


def volume(text: str) -> tuple[str, str]:
    """A volume's source, a claim or a /path of the node, and its path in the container; each empty where the
    text has none."""
    source, _, path = text.partition(":")
    return source, path


def runs_folder(job: Job) -> str | None:
    """Where the folders of runs are in a container; None where nothing is mounted that outlives it."""
    launch = settings(job)
    return mounted_runs(launch.runs, [volume(each)[1] for each in launch.volumes])
