"""benchmarks/data/own_h100_trained.csv: emitted jobs trained on one H100, by its own probe and without."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from statistics import median

import pytest

import parc
from benchmarks.accuracy import accuracy
from parc.__main__ import main
from parc.compiler.plan import RECOMPUTE, Estimate
from parc.printing.plan_text import estimate_text
from tests.support.paths import ROOT

DATA = ROOT / "benchmarks" / "data"
ROWS = {run.row.id: run for run in accuracy.score(DATA / "own_h100_trained.csv").runs}
MODELS = {
    "Llama-3.2-1B": "std.llama3_2_1b {}",
    "Llama-3-8B of 8 layers": "std.llama3_8b { layers = 8 }",
    "Qwen3-30B-A3B of 4 layers": (
        "std.qwen3_30b_a3b { layers = 4; aux_loss = 0; router_bias_rate = 0.001 }"
    ),
}
LIBRARY = ("", "std.dgx_h100")
SITE = ('import "site.par"\n', "site")
#: How far the site's file may be farther off than the library's.
POINT = 0.01


@cache
def planned(name: str, place: tuple[str, str]) -> Estimate:
    """What `parc estimate` says of the emitted job, on the library's H100 or a site's."""
    row, (head, cluster) = ROWS[name].row, place
    model = "; model = hf" if "Hugging Face" in row.notes else ""
    Path("job.par").write_text(
        f"{head}model m from {MODELS[row.model]}\n"
        f"cluster one from {cluster} {{ nodes = 1; gpus_per_node = 1 }}\n"
        f"train {{ seq_len = {row.seq_len}; global_batch = {row.gbs}; steps = 20 }}\n"
        f'target {row.framework} {{ data = "c4"{model} }}\n'
    )
    layout = {
        "micro_batch": row.mbs or 1,
        "zero": row.zero_stage or 0,
        "recompute": RECOMPUTE.index(row.recompute),
    }
    return parc.estimate(parc.load("job.par"), layout, row.framework)


def errors(place: tuple[str, str]) -> dict[str, float]:
    return {
        name: planned(name, place).step_seconds / (run.row.step_time_s or 0) - 1
        for name, run in ROWS.items()
    }


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    planned.cache_clear()
    assert main(["measure", "--rows", str(DATA / "own_h100_probe.jsonl"), "-o", "site.par"]) == 0


@pytest.mark.usefixtures("site")
def test_rows_are_priced_as_plans_are() -> None:
    """One path from a row and from a job to a price: the same kernels, loss and norms."""
    assert len(ROWS) == 7
    for name, run in ROWS.items():
        assert run.prediction.seconds == pytest.approx(
            planned(name, LIBRARY).step_seconds, rel=1e-3
        ), name


@pytest.mark.usefixtures("site")
def test_the_site_file_of_its_own_probe_predicts_the_card() -> None:
    before, after = errors(LIBRARY), errors(SITE)
    assert median(map(abs, after.values())) < 0.04
    assert max(map(abs, after.values())) < 0.1 and max(map(abs, before.values())) < 0.1
    assert all(abs(after[name]) < abs(before[name]) + POINT for name in ROWS)


@pytest.mark.usefixtures("site")
def test_selective_recomputation_in_eager_torchtitan_waits_for_the_host() -> None:
    """Its dispatch in Python, and not the GPU, sets the pace of the step."""
    run = ROWS["own-h100-t02"]
    assert run.prediction.time["host"] > 2 * ROWS["own-h100-t01"].prediction.time["host"]
    assert abs(run.error) < 0.05


def on_device(name: str) -> float:
    """GiB that the driver reported at the end of a run."""
    (size,) = re.findall(r"device ([\d.]+) GiB", ROWS[name].row.notes)
    return float(size)


@pytest.mark.usefixtures("site")
def test_memory_of_emitted_jobs_is_what_the_device_showed() -> None:
    """Logits of 32,768 tokens leave a gap of 7.8 GiB, autocast an fp32 stream and copies of inputs."""
    found = {
        name: planned(name, LIBRARY).memory_bytes / 2**30 / on_device(name) - 1 for name in ROWS
    }
    assert median(map(abs, found.values())) < 0.01
    assert max(map(abs, found.values())) < 0.02, found


@pytest.mark.usefixtures("site")
def test_what_filled_the_card_is_no_safe_run() -> None:
    """76.7 of 79.1 GiB were used: no chance under 1 % to run out."""
    assert on_device("own-h100-t10") > 76
    assert planned("own-h100-t10", LIBRARY).out_of_memory > 0.05


@pytest.mark.usefixtures("site")
def test_an_estimate_prints_what_pytorch_reserved_and_what_the_device_showed() -> None:
    """Both were read while the jobs ran: of PyTorch, and of nvidia-smi."""
    for name, run in ROWS.items():
        estimate = planned.__wrapped__(name, LIBRARY)
        text = estimate_text(parc.load("job.par"), run.row.framework, estimate)
        printed = re.search(r"PyTorch reserves ([\d.]+) GiB · nvidia-smi\s+shows ([\d.]+)", text)
        device = re.search(r"device ([\d.]+) GiB", run.row.notes)
        assert printed and device, name
        measured = run.row.mem_gb or 0, float(device[1])
        for said, was in zip(map(float, printed.groups()), measured, strict=True):
            assert said == pytest.approx(was, rel=0.03), name
