"""Sites of measured runs: some calibrate, the others are predicted; same arguments, same numbers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import transfer
from benchmarks.accuracy.setups.prediction import predict
from tests.support.measured_rows import GOOD, write

#: Layouts of one model on 32 GPUs.
LAYOUTS = [(tp, pp, mbs) for tp in (1, 2, 4, 8) for pp in (1, 2) for mbs in (1, 2)]


def rows(source: str) -> list[dict[str, str]]:
    """Runs of every layout, as slow as no machine is."""
    found = []
    for tp, pp, mbs in LAYOUTS:
        layout = {"tp": tp, "pp": pp, "mbs": mbs, "gpus": 32, "dp": 32 // tp // pp, "gbs": 512}
        cells = {name: str(value) for name, value in layout.items()}
        row = {**GOOD, **cells, "source": source, "tflops_per_gpu": ""}
        found.append({**row, "step_time_s": "1000"})
    return found


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One site 30 % slower than predicted, one with too few runs."""
    path = tmp_path_factory.mktemp("transfer") / "runs.csv"
    guessed = rows("slow site")
    (samples,) = transfer.as_shipped(write(path, *guessed)).values()
    times = [1.3 * predict(each.setup).seconds for each in samples]
    assert len(times) == len(guessed)
    timed = [{**row, "step_time_s": str(time)} for row, time in zip(guessed, times, strict=True)]
    return write(path, *timed, *rows("few runs")[: transfer.SITE - 1])


def test_a_slow_site_is_predicted_after_a_few_logs(data: Path, tmp_path: Path) -> None:
    for name in ("one.json", "two.json"):
        given = ["--data", str(data), "--runs", "2,6", "--seeds", "2", "--json"]
        assert transfer.main([*given, str(tmp_path / name)]) == 0
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    document = json.loads((tmp_path / "one.json").read_text())
    assert list(document["by_source"]) == ["slow site"]
    site = document["by_source"]["slow site"]
    assert site["before"]["median_ape"] == pytest.approx(1 - 1 / 1.3, abs=1e-3)
    assert site["after"]["6"]["median_ape"] < site["after"]["2"]["median_ape"] < 0.1
    assert site["after"]["6"]["median_ape"] < 0.03
    assert site["after"]["6"]["in_band"] == 1.0 and site["after"]["6"]["spearman"] > 0.97
    assert set(site["after"]["6"]) == set(transfer.FIGURES)
    assert document["median_of_sources"]["after"]["6"] == site["after"]["6"]


def test_logs_are_none_of_the_runs_that_are_predicted(data: Path) -> None:
    ((_, site),) = transfer.sites(transfer.as_shipped(data)).items()
    splits = [transfer.split(site, 6, seed) for seed in range(3)]
    for logs, others in splits:
        assert len(logs) == 6 and {*map(id, logs)} | {*map(id, others)} == {*map(id, site)}
        assert not {*map(id, logs)} & {*map(id, others)}
    assert len({tuple(map(id, logs)) for logs, _ in splits}) == 3


def test_a_band_holds_what_lies_within_it(data: Path) -> None:
    ((_, site),) = transfer.sites(transfer.as_shipped(data)).items()
    exact = np.log([run.measured for run in site])
    off = exact + np.where(np.arange(len(site)) < 4, 0.2, 0.05)
    found = transfer.figures(site, off, np.full(len(site), 0.1))
    assert found["in_band"] == pytest.approx(1 - 4 / len(site))
    assert found["median_ape"] == pytest.approx(np.expm1(0.05))
    assert transfer.figures(site, exact, np.full(len(site), 0.1))["spearman"] == pytest.approx(1.0)


def test_what_cannot_be_scored_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = write(tmp_path / "few.csv", *rows("few runs")[:5])
    assert transfer.main(["--data", str(few)]) == 1
    assert "no source has 15 timed runs" in capsys.readouterr().err
    assert transfer.main(["--data", str(tmp_path / "none.csv")]) == 2
    with pytest.raises(SystemExit):
        transfer.main(["--data", str(few), "--runs", "3,x"])
