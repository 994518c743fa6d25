"""Steps of small models that the probe trains: their prices, and what they tell of a machine."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import parc
from parc.calibrate.probe.measured import measured
from parc.calibrate.probe.prices import predicted_seconds
from parc.calibrate.probe.program.cases import cases
from parc.calibrate.probe.rows import Stream, Training, read_probe
from parc.calibrate.probe.site_blocks import summary
from parc.calibrate.probe.trained_models import trained
from parc.compiler.plan import RECOMPUTE
from parc.dsl import std_cluster
from parc.dsl.hardware import Cluster
from parc.printing.probe_report import probe_json
from tests.support.simulated_probe import dgx, machine, write

MODELS = [case for case in cases("cuda", ("bf16",), (), 1, 1) if case["kind"] == "training"]
#: What steps reach on a machine that is off in everything that a step on one GPU hangs on.
TRUE = {"matmul_efficiency": 0.6, "memory_efficiency": 0.6, "host_time": 1.5}


def rows_of(cluster: Cluster, noise: float = 0.0) -> list[Training]:
    drawn = random.Random(5)
    rows = [Training.model_validate(case) for case in MODELS]
    seconds = [predicted_seconds(row, cluster) * drawn.lognormvariate(0, noise) for row in rows]
    return [
        row.model_copy(update={"seconds": (each,)}) for row, each in zip(rows, seconds, strict=True)
    ]


@pytest.mark.parametrize("number", range(len(MODELS)))
def test_a_step_is_priced_as_estimate_prices_its_job(number: int, tmp_path: Path) -> None:
    case = MODELS[number]
    names = ("layers", "hidden", "heads", "kv_heads", "ffn", "vocab")
    shape = "; ".join(f"{name} = {case[name]}" for name in names)
    compiled = "; compile = true" if case["compile"] else ""
    (tmp_path / "job.par").write_text(
        f"model m {{ {shape} }}\n"
        "cluster c from std.dgx_h100 { nodes = 1; gpus_per_node = 1 }\n"
        f"train {{ seq_len = {case['seq_len']}; global_batch = {case['batch']}; steps = 9{compiled} }}\n"
        'target torchtitan { version = "0.2.2"; data = synthetic }\n'
    )
    layout = {"micro_batch": case["batch"], "recompute": RECOMPUTE.index(case["recompute"])}
    found = parc.estimate(parc.load(tmp_path / "job.par"), {**layout, "zero": 0}, "torchtitan")
    row = Training.model_validate(case)
    assert predicted_seconds(row, std_cluster("dgx_h100")) == pytest.approx(found.step_seconds)


def test_the_models_are_of_every_kind() -> None:
    """Ways of recomputation, compiled and not, and one so small that the host sets its pace."""
    assert {case["recompute"] for case in MODELS} == {"none", "selective", "full"}
    assert {case["compile"] for case in MODELS} == {True, False}
    few = min(MODELS, key=lambda case: case["batch"] * case["seq_len"])
    slow, usual = (
        predicted_seconds(Training.model_validate(few), dgx(host_time=time)) for time in (2.0, 1.0)
    )
    assert slow > 1.5 * usual


def test_steps_move_the_numbers_toward_what_training_reaches() -> None:
    before = std_cluster("dgx_h100")
    rows = rows_of(dgx(**TRUE), noise=0.02)
    found = trained(before, rows)
    assert found.count == len(MODELS)
    for name, true in TRUE.items():
        now, was = (
            getattr(cluster if name == "host_time" else cluster.gpu, name)
            for cluster in (found.cluster, before)
        )
        assert abs(now / true - 1) < 0.6 * abs(was / true - 1), name
    assert max(map(abs, found.after)) < 0.5 * max(map(abs, found.before))


def test_steps_as_predicted_move_nothing() -> None:
    before = std_cluster("dgx_h100")
    found = trained(before, rows_of(before))
    assert found.cluster == before and max(map(abs, found.after)) < 1e-6


def test_a_gpu_without_bf16_is_not_judged_by_them() -> None:
    volta = std_cluster("dgx_h100")
    volta = volta.model_copy(update={"gpu": volta.gpu.model_copy(update={"bf16": None})})
    found = trained(volta, rows_of(std_cluster("dgx_h100")))
    assert found.count == 0 and found.cluster == volta


def test_the_file_says_how_far_the_steps_are_off(tmp_path: Path) -> None:
    """Where a model did not fit into memory, the others count."""
    path, cluster = tmp_path / "rows.jsonl", dgx(**TRUE)
    kept = [{**row.model_dump(), "spread": 0.01} for row in rows_of(cluster)]
    kept[-1] |= {"seconds": (), "failed": "rank 0: CUDA out of memory"}
    stream = {"kind": "stream", "operands": 2, "bytes": 2**30}
    seconds = predicted_seconds(Stream.model_validate(stream), std_cluster("dgx_h100"))
    kept += [{**stream, "seconds": [seconds], "spread": 0.01}]
    write(path, [machine(cluster, 1, ranks=1, per_node=1, hosts=["n1"]), *kept])
    found = measured(read_probe(path))
    (said,) = (line for line in summary(found) if line.startswith("Steps of"))
    assert f"Steps of {len(MODELS) - 1} small models: predicted within" in said
    errors: Any = probe_json(found, tmp_path / "site.par", True)["models"]
    assert len(errors) == len(MODELS) - 1
    assert sum(abs(each["error"]) for each in errors) < sum(abs(each["alone"]) for each in errors)
