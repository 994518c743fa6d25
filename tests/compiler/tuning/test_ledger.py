"""The ledger of tuned weights against transformers, peft and bitsandbytes, to the byte.

tests/cases/tuning/bytes.csv was measured with transformers 5.24, peft 0.21 and bitsandbytes 0.50: each model
on the meta device, `LoraConfig` with every linear layer of attention, then of the blocks, as targets; the
bytes of a quantized matrix as bitsandbytes' own tensors have them.
"""

import csv
from pathlib import Path
from typing import Literal

import pytest

from parc.compiler.model import parameters
from parc.compiler.tuning.ledger import ledger, stored_bytes
from parc.compiler.tuning.matrices import matrices
from parc.dsl.standard import std_model
from parc.dsl.tuning import Adapters

MEASURED = Path(__file__).parents[2] / "cases" / "tuning" / "bytes.csv"
ROWS = list(csv.DictReader(MEASURED.open(encoding="utf-8")))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["model"])
def test_bytes_of_the_libraries(row: dict[str, str]) -> None:
    model = std_model(row["model"])
    full = ledger(model, "full", Adapters())
    assert full.trained_bytes + full.frozen_bytes == int(row["bytes"])
    assert full.trained_parameters == int(row["parameters"])
    kinds: tuple[Literal["attention", "linear"], ...] = ("attention", "linear")
    for targets in kinds:
        if not row[f"{targets}_trained"]:
            # peft puts adapters of DeepSeek's shared experts beside the routed ones too.
            continue
        adapters = Adapters(rank=int(row[f"{targets}_rank"]), targets=targets)
        tuned = ledger(model, "lora", adapters)
        assert tuned.trained_parameters == int(row[f"{targets}_trained"])
        assert tuned.trained_bytes == 4 * tuned.trained_parameters
        assert tuned.frozen_bytes == int(row["bytes"])
    packed = ledger(model, "qlora", Adapters())
    assert packed.quantized_parameters == int(row["nf4_parameters"])
    assert packed.quantized_bytes == int(row["nf4_bytes"])
    assert packed.frozen_bytes == int(row["kept_bytes"])


def test_twenty_models_were_measured() -> None:
    assert len(ROWS) >= 20


@pytest.mark.parametrize(
    ("shape", "stored"),
    [
        ((64, 64), 3208),
        ((100, 70), 4706),
        ((896, 128), 60256),
        ((1024, 4096), 2164804),
        ((4096, 11008), 23260996),
    ],
)
def test_tensors_of_quantize_4bit(shape: tuple[int, int], stored: int) -> None:
    """Bytes of what bitsandbytes 0.50.2's quantize_4bit keeps of a matrix, run on real tensors."""
    assert stored_bytes(shape[0] * shape[1], "nf4") == stored


def test_matrices_and_the_rest_are_the_model() -> None:
    for row in ROWS:
        model = std_model(row["model"])
        inside = sum(matrix.elements * matrix.count for matrix in matrices(model))
        assert 0 < inside < parameters.total(model)


def test_frozen_weights_are_not_trained() -> None:
    tuned = ledger(std_model("llama3_8b"), "lora", Adapters(rank=8, targets="attention"))
    assert {entry.part for entry in tuned.entries if entry.trained} == {"adapters"}
