"""What parc reads of a config.json is what transformers build of it: parameters, defaults of absent keys."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from parc.reading.huggingface.defaults import TRANSFORMERS as READ
from parc.reading.huggingface.defaults import defaults
from parc.reading.huggingface.families import CLASSES, FAMILIES, WRAPPERS
from parc.reading.huggingface.unneeded import UNNEEDED
from tests.acceptance.support.environments import TRANSFORMERS
from tests.acceptance.support.probe_runs import probe
from tests.support.paths import ROOT

CASES = ROOT / "tests" / "cases" / "huggingface"
#: Of the file and of the wrapper around it: which class reads it, and how weights are stored.
_LEFT = ("model_type", "quantization_config")


def case(path: Path) -> dict[str, Any]:
    """The language model of a file, as a case of the probe."""
    values = json.loads(path.read_text())
    outer = values["model_type"]
    inner = values.get("text_config", values)
    kind = inner.get("model_type", WRAPPERS.get(outer, outer))
    config = {name: value for name, value in inner.items() if name not in _LEFT}
    return {"name": path.stem, "type": CLASSES.get(kind, kind), "config": config}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    cases = [case(path) for path in sorted(CASES.glob("*.json"))]
    found = probe("deepspeed", "hugging_face_sizes", cases, tmp_path_factory.mktemp("sizes"))
    return [{**answer, "type": each["type"]} for answer, each in zip(found, cases, strict=True)]


def test_parameters_are_those_of_the_table(answers: list[dict[str, Any]]) -> None:
    table = csv.DictReader((CASES / "parameters.csv").open())
    stated = {row["model"]: int(row["transformers"]) for row in table}
    assert {each["name"]: each.get("parameters", each.get("error")) for each in answers} == stated


def test_defaults_are_those_of_the_classes(answers: list[dict[str, Any]]) -> None:
    """Fields that hold them; `unneeded` ones are in no table, and methods set some beside."""
    assert READ == TRANSFORMERS
    classes = {each["type"]: each["defaults"] for each in answers}
    assert classes.keys() == {CLASSES.get(family, family) for family in FAMILIES}
    for kind, fields in classes.items():
        own = {name: value for name, value in fields.items() if name not in UNNEEDED}
        table = {name: value for name, value in defaults(kind).items() if name in own}
        # GPT-2 has no rotary positions.
        assert table == own or (kind, own.keys() - table) == ("gpt2", {"rope_theta"})
