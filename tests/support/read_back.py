"""Files of one job -> its facts in a plan's words, by the way that `parc lint` and `parc import` take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from parc.backends import BACKENDS
from parc.backends.launch_files import read_jobs
from parc.backends.plan_facts import in_plan_words
from parc.compiler.plan import Plan
from parc.reading.facts import LaunchConfig


def read_back(files: Mapping[str, str]) -> LaunchConfig:
    (job,) = read_jobs(files)
    return replace(job, facts=in_plan_words(job.facts))


def assert_plan_is_back(plan: Plan, files: Mapping[str, str]) -> None:
    """The emitted files say all that they must of the plan; a dense model's files do not name experts."""
    job = read_back(files)
    assert job.framework == plan.target and job.unread == ()
    values = {"experts": 0, **job.values()}
    expected = BACKENDS[plan.target].facts(plan)
    assert {name: values.get(name) for name in expected} == expected
