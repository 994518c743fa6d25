"""Large spaces are answered by blocks and bounds as by a whole sweep, in little time and memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from parc.compiler import estimate, plan
from parc.compiler.case import Case
from parc.compiler.plan import Plan
from parc.compiler.search import best_first
from parc.compiler.search.space import Space
from parc.dsl.diagnostics import Diagnostic, JobError
from parc.dsl.job import Job
from tests.support.search_time import in_time
from tests.support.solver_and_sweep import DENSE, MOE, TARGETS, Parts, job_of, target_of

SHORT = {"seq_len": 1024, "global_batch": 48, "steps": 1000}
RANGE: Parts = {"cluster": {"nodes": "1..12"}, "train": SHORT}
JOBS: dict[str, tuple[str, Parts]] = {
    "plain": ("maximize mfu", RANGE),
    "experts": ("maximize mfu", {**RANGE, "model": MOE, "cluster": {"nodes": "1..3"}}),
    "margin": ("maximize mfu\nwithin = 20%\nprefer zero == 3\nprefer micro_batch == 4", RANGE),
    "bound": (
        "minimize step_time\nrequire memory <= 4 GiB\nrequire tp * pp >= 4",
        {**RANGE, "cluster": {"nodes": "1..6"}},
    ),
    "least memory": ("minimize memory\nforbid tp > 2 or recompute == full", RANGE),
}
#: Llama 3 405B on any number of nodes.
LARGE = """
model big from std.llama3_405b {}
cluster any from std.h100_pod { nodes = %s }
train { seq_len = 8192; global_batch = %d; tokens = 1T }
goal { maximize mfu; %s }
target megatron {}
"""
#: Runs parc in a child, whose resources it prints.
CHILD = """
import json, resource, sys
from parc.__main__ import main
code = main(["plan", sys.argv[1]])
used = resource.getrusage(resource.RUSAGE_SELF)
seconds = used.ru_utime + used.ru_stime
# Not ru_maxrss, which is at least that of the process that started this one.
status = open("/proc/self/status").read()
kib = int(status.split("VmHWM:")[1].split()[0])
print(json.dumps([code, seconds, kib]), file=sys.stderr)
"""


def outcome(job: Job) -> Plan | list[Diagnostic]:
    try:
        return plan(job, target_of(job))
    except JobError as error:
        return list(error.diagnostics)


def by_blocks(job: Job, monkeypatch: pytest.MonkeyPatch) -> Plan | list[Diagnostic]:
    """The outcome where no space may be priced whole."""
    with monkeypatch.context() as patch:
        patch.setattr(best_first, "WHOLE", 16)
        patch.setattr(best_first, "FEWEST", 8)
        return outcome(job)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", JOBS)
def test_blocks_and_bounds_give_the_plan_of_the_whole_sweep(
    name: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    goal, parts = JOBS[name]
    given: Parts = {**parts, "target": target}
    if target == "deepspeed" and name == "experts":
        given["model"] = DENSE
    found = by_blocks(job_of(goal, **given), monkeypatch)
    monkeypatch.setattr(best_first, "WHOLE", 2**20)
    whole = outcome(job_of(goal, **given))
    if isinstance(whole, Plan):
        assert isinstance(found, Plan) and found.proof.ruled_out and not whole.proof.ruled_out
        assert found.estimate == whole.estimate
        assert (found.runners_up, found.best, found.binding) == (
            whole.runners_up,
            whole.best,
            whole.binding,
        )
        assert found.doubt == whole.doubt
        assert found.proof.value == whole.proof.value == pytest.approx(found.proof.bound)
    else:
        assert isinstance(found, list)
        assert [each.code for each in found] == [each.code for each in whole]


def test_layouts_whose_stages_are_all_uneven_are_layouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight layers on pipelines of three stages, as 24 GPUs and a batch of 16 have them: of what the search
    keeps no layout is in the even placement."""
    monkeypatch.setattr(best_first, "WHOLE", 2**6)
    job = job_of("maximize mfu", cluster={"nodes": 3})
    case = Case(job, target_of(job))
    kept = best_first.explored(Space(case))
    assert kept.explored is not None and kept.feasible.all() and kept.space.size == 0
    found = plan(job, case.target)
    assert found.layout.pp % 3 == 0 and found.proof.status == "OPTIMAL"
    given = {name: getattr(found.layout, name) for name in ("tp", "pp", "vpp", "cp")}
    assert estimate(job, case.target, given).step_seconds <= found.estimate.step_seconds


def resources(text: str, tmp_path: Path) -> tuple[int, float, float]:
    """Exit code, processor seconds and MiB of a `parc plan` of its own."""
    path = tmp_path / "job.par"
    path.write_text(text)
    command = [sys.executable, "-c", CHILD, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    code, seconds, kib = json.loads(done.stderr.splitlines()[-1])
    return code, seconds, kib / 1024


@pytest.mark.parametrize(
    ("nodes", "batch", "goal", "code", "most_mib"),
    [
        pytest.param("1..4096", 2048, "", 0, 600, id="thousands of node counts"),
        pytest.param("1000000", 8_000_000, "", 0, 600, id="a million nodes"),
        pytest.param("720", 720_720, "require tp * pp >= 16", 0, 600, id="many divisors"),
        pytest.param("1..4096", 720_720, "", 0, 900, id="many divisors and node counts"),
        pytest.param("1..512", 2048, "within = 20%; prefer recompute == full", 0, 600, id="margin"),
    ],
)
def test_a_large_search_is_bounded(
    nodes: str, batch: int, goal: str, code: int, most_mib: float, tmp_path: Path
) -> None:
    """1..4096 nodes took 76 s of a processor and 1.9 GiB before blocks were ruled out by bounds."""
    found, seconds, mib = resources(LARGE % (nodes, batch, goal), tmp_path)
    assert (found, mib < most_mib) == (code, True), (found, mib)
    assert in_time(seconds), seconds
