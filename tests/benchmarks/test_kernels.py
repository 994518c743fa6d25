"""Measured kernels are priced by the compiler's own functions; what cannot be priced is named."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from benchmarks import kernels
from benchmarks.accuracy.rows.csv_rows import Unusable
from benchmarks.measured_kernels.price import seconds
from benchmarks.measured_kernels.rows import SHAPES, kernel_of
from parc.compiler.time import collectives
from parc.dsl import std_cluster

GEMM = {
    "kind": "gemm", "gpu": "H100-SXM", "framework": "vllm", "version": "0.24.0", "kernel": "linear",
    "dtype": "bf16", "m": "4096", "n": "4096", "k": "4096", "microseconds": "200",
}  # fmt: skip
ATTENTION = GEMM | {
    "kind": "attention", "batch": "1", "seq": "4096", "heads": "32", "kv_heads": "8", "head_dim": "128",
    "causal": "1",
}  # fmt: skip
COLLECTIVE = GEMM | {"kind": "collective", "op": "all_gather", "ranks": "8", "bytes": str(2**29)}
EXPERTS = GEMM | {
    "kind": "experts", "tokens": "32768", "hidden": "2048", "ffn": "1024", "topk": "8", "experts": "128",
    "ep": "8", "tp": "1",
}  # fmt: skip
KINDS = {"gemm": GEMM, "attention": ATTENTION, "collective": COLLECTIVE, "experts": EXPERTS}


def written(path: Path, *rows: Mapping[str, str]) -> Path:
    names = list(dict.fromkeys(name for row in (*KINDS.values(), *rows) for name in row))
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, names, restval="")
        table.writeheader()
        table.writerows(rows)
    return path


def price(row: Mapping[str, str]) -> float:
    return seconds(kernel_of(row))


@pytest.mark.parametrize("kind", KINDS)
def test_a_kernel_takes_longer_than_its_flop_or_bytes_at_the_peak(kind: str) -> None:
    least = {
        "gemm": 2 * 4096**3 / 989e12,
        "attention": 2 * 4096**2 * 32 * 128 / 989e12,
        "collective": 7 / 8 * 2**29 / 450e9,
        "experts": 2 * 3 * 32768 * 2048 * 1024 / 989e12,
    }
    assert least[kind] < price(KINDS[kind]) < 5 * least[kind]


def test_a_collective_is_the_cost_models_own() -> None:
    cluster = std_cluster("dgx_h100")
    gathered = float(collectives.ring(cluster, 2.0**29, 8, 1))
    assert price(COLLECTIVE) == pytest.approx(gathered)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (GEMM | {"kind": "conv"}, "unknown kind `conv`"),
        (GEMM | {"kind": ""}, "kind not stated"),
        (GEMM | {"gpu": "Z9"}, "unknown GPU `Z9`"),
        (GEMM | {"gpu": ""}, "GPU not stated"),
        (GEMM | {"gpu": "A100-80", "dtype": "fp8"}, "a100_80 has no fp8 rate"),
        (GEMM | {"dtype": "nvfp4"}, "dtype `nvfp4` is not in the language"),
        (GEMM | {"dtype": ""}, "dtype not stated"),
        (GEMM | {"m": ""}, "`m` not stated"),
        (GEMM | {"m": "many"}, "`m` is not a number"),
        (GEMM | {"m": "0"}, "impossible `m`"),
        (GEMM | {"m": "1e14"}, "impossible `m`"),
        (GEMM | {"m": "4.5"}, "`m` is not a whole number"),
        (GEMM | {"microseconds": "0"}, "impossible `microseconds`"),
        (GEMM | {"microseconds": "nan"}, "impossible `microseconds`"),
        (ATTENTION | {"causal": "0"}, "attention without a causal mask is not in the language"),
        (ATTENTION | {"kv_heads": "5"}, "impossible `kv_heads`"),
        (COLLECTIVE | {"op": "gossip"}, "unknown collective `gossip`"),
        (EXPERTS | {"topk": "129"}, "impossible shape of experts"),
        (EXPERTS | {"ep": "7"}, "impossible shape of experts"),
    ],
)
def test_a_row_that_cannot_be_priced_is_named(row: Mapping[str, str], reason: str) -> None:
    with pytest.raises(Unusable) as found:
        price(row)
    assert str(found.value) == reason


def test_the_report_divides_a_groups_level_out(tmp_path: Path) -> None:
    shapes = [GEMM | {"m": str(m)} for m in (512, 1024, 4096, 8192)]
    rows = [row | {"microseconds": repr(1.25e6 * price(row))} for row in shapes]
    path, report = written(tmp_path / "in.csv", *rows, GEMM | {"gpu": "Z9"}), tmp_path / "out.json"
    assert kernels.main(["--data", str(path), "--json", str(report)]) == 0
    document = json.loads(report.read_text())
    group = document["by_kind"]["gemm"]["H100-SXM"]["bf16"]
    assert group["n"] == 4
    assert group["bias"] == pytest.approx(-0.2)
    assert group["median_ape"] == pytest.approx(0.2)
    assert group["p90_ape"] == pytest.approx(0.2)
    assert group["shape_median_ape"] == pytest.approx(0, abs=1e-9)
    assert document["overall"]["gemm"]["bias"] == pytest.approx(-0.2)
    assert document["skipped"] == {"unknown GPU `Z9`": 1}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "the file is empty"),
        (b"kind,gpu\ngemm,B200\n", "no column dtype, microseconds"),
        (b"kind,gpu,dtype,microseconds\n", "no rows"),
        (b"kind,gpu,dtype,dtype,microseconds\na,b,c,d,1\n", "column dtype is there more than once"),
        (b"kind,gpu,dtype,microseconds\n\xff,b,c,1\n", "is no UTF-8 text"),
        (b'kind,gpu,dtype,microseconds\n"a,b,c,1\n', "is a quote left open?"),
    ],
)
def test_an_unusable_file_ends_with_2(
    content: bytes, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(content)
    assert kernels.main(["--data", str(path)]) == 2
    assert complaint in capsys.readouterr().err


def test_a_file_of_which_nothing_is_priced_ends_with_1(tmp_path: Path) -> None:
    assert kernels.main(["--data", str(written(tmp_path / "in.csv", GEMM | {"gpu": "Z9"}))]) == 1


def test_a_file_that_is_not_there_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert kernels.main(["--data", "no/such.csv"]) == 2
    assert capsys.readouterr().err == "kernels: no/such.csv: No such file or directory\n"


def test_every_row_of_the_public_table_is_priced() -> None:
    result = kernels.priced(kernels.DATA)
    assert not result.skipped
    assert {row.kind for row, _ in result.rows} == set(SHAPES)
    assert all(0 < ratio < np.inf for _, ratio in result.rows)
