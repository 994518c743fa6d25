"""Values of axolotl's YAML that its schema refuses, beside what pydantic takes for the same kind."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

from parc.lint.rules.options.axolotl_value import _wanted
from tests.support.linted import Captured, findings

BASE = (
    "base_model: a/b\nmicro_batch_size: 1\ngradient_accumulation_steps: 1\n"
    "datasets:\n  - path: c\n    type: alpaca\n"
)
RUN = "axolotl train a.yaml\n"


class Schema(BaseModel):
    """Three of axolotl's keys, with the types of its schema."""

    lora_r: int | None = None
    weight_decay: float | None = None
    sample_packing: bool | None = None


TEXTS = [
    "",
    "16",
    "16.0",
    "1.5",
    "auto",
    "many",
    "-1",
    "1e-4",
    "1e3",
    "yes",
    "On",
    "0",
    "2",
    "T",
    "inf",
    "+3",
    ".5",
]


@pytest.mark.parametrize("key", Schema.model_fields)
@pytest.mark.parametrize("text", TEXTS)
def test_texts_are_taken_as_pydantic_takes_them(key: str, text: str) -> None:
    try:
        Schema.model_validate({key: text})
        taken = True
    except ValidationError:
        taken = False
    assert (_wanted(key, text) is None) is taken


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ('early_stopping_patience: ""', 1),
        ("early_stopping_patience:", 0),
        ("early_stopping_patience: null", 0),
        ("xformers_attention: ''", 1),
        ("sample_packing: auto", 1),
        ("warmup_steps: 0.1", 1),
        ("learning_rate: 2e-5", 0),
        ("lora_r: ${LORA_R}", 0),
        ("save_steps: 0.5", 0),
        ("bf16: auto", 0),
    ],
)
def test_a_value(line: str, count: int, capsys: Captured) -> None:
    Path("a.yaml").write_text(f"{BASE}{line}\n")
    Path("run.sh").write_text(RUN)
    found = [each["severity"] for each in findings(capsys, ".") if each["code"] == "PAR464"]
    assert found == ["error"] * count


def test_an_option_of_the_command_counts(capsys: Captured) -> None:
    Path("a.yaml").write_text(f"{BASE}lora_r: many\n")
    Path("run.sh").write_text(RUN.replace("a.yaml", "a.yaml --lora-r 16"))
    assert all(each["code"] != "PAR464" for each in findings(capsys, "."))
