"""A site file of a minute's probe against the library, on machines that another model made."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from statistics import mean

from parc.backends import BACKENDS
from parc.calibrate.probe.measured import measured
from parc.calibrate.probe.rows import read_probe
from parc.compiler.case import Case
from parc.compiler.pricing.estimate import estimate_layout
from parc.compiler.search.complete_layout import complete
from parc.dsl import Job, loads, std_cluster
from parc.dsl.hardware import Cluster
from tests.support.other_machine import others
from tests.support.simulated_probe import write

#: Of 200 of them, 6 are farther off by more than a point.
MACHINES = 40
#: By how much a site's file may be farther from the truth than the library's, on how many machines it may be
#: more, and how much at most.
POINT, FEW, MOST = 0.01, MACHINES // 20, 0.03
#: Jobs that hang on each number: model, target and degrees.
JOBS = (
    ("llama3_2_1b", 4096, "deepspeed", {"micro_batch": 2, "dp_shard": 8, "zero": 2}),
    ("llama3_8b", 8192, "megatron", {"tp": 2, "dp_shard": 4, "zero": 1}),
    ("llama3_8b", 32768, "megatron", {"tp": 8, "recompute": 2}),
    ("qwen3_30b_a3b", 4096, "megatron", {"ep": 8, "dp_shard": 8, "zero": 1}),
)


@cache
def asked(number: int) -> tuple[Job, dict[str, int]]:
    """A job of JOBS on the library's cluster, and its layout."""
    model, seq_len, target, degrees = JOBS[number]
    job = loads(
        f"model m from std.{model} {{}}\ncluster c from std.dgx_h100 {{}}\n"
        f"train {{ seq_len = {seq_len}; global_batch = 64; steps = 10 }}\n"
        f"target {target} {{ data = synthetic }}\n",
        targets={target: BACKENDS[target].target.options},
    )
    return job, complete(Case(job, BACKENDS[target].target), degrees)


def steps(cluster: Cluster) -> list[float]:
    """Seconds of a step of each job on a cluster."""
    seconds = []
    for number, (_, _, target, _) in enumerate(JOBS):
        job, layout = asked(number)
        case = Case(job.model_copy(update={"cluster": cluster}), BACKENDS[target].target)
        seconds.append(estimate_layout(case, layout).step_seconds)
    return seconds


def error(predicted: Sequence[float], true: Sequence[float]) -> float:
    return mean(abs(one / other - 1) for one, other in zip(predicted, true, strict=True))


def test_a_minute_s_site_file_is_hardly_ever_worse_than_the_library(tmp_path: Path) -> None:
    library, path = steps(std_cluster("dgx_h100")), tmp_path / "rows.jsonl"
    before, after = [], []
    for machine in others(MACHINES):
        write(path, machine.lines())
        site, true = measured(read_probe(path)).cluster, steps(machine.true)
        before.append(error(library, true))
        after.append(error(steps(site), true))
    lost = [new - old for old, new in zip(before, after, strict=True)]
    assert sum(each > POINT for each in lost) <= FEW and max(lost) < MOST
    assert mean(after) < 0.6 * mean(before)
