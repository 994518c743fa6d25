"""Defaults of transformers for keys that a config.json leaves out, by model type."""

from __future__ import annotations

import csv
import functools
import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

#: The release that the table and the values below are of.
TRANSFORMERS = "5.23.0"
#: Defaults that no field of a configuration class holds: its methods set them,
# `convert_rope_params_to_dict` and
#: `__post_init__` of transformers/models/NAME/configuration_NAME.py.
_IN_METHODS: Mapping[str, Mapping[str, Any]] = {
    "glm4_moe": {"partial_rotary_factor": 0.5},
    "gpt_neox": {"rotary_pct": 0.25},
    "gemma3_text": {"rope_theta": 1_000_000.0, "rope_local_base_freq": 10_000.0},
    "gpt_oss": {
        "rope_parameters": {
            "rope_type": "yarn",
            "factor": 32.0,
            "beta_fast": 32.0,
            "beta_slow": 1.0,
            "truncate": False,
            "original_max_position_embeddings": 4096,
        }
    },
}


def defaults(model_type: str) -> dict[str, Any]:
    """Key -> value, of the class that reads files of this type."""
    return _table().get(model_type, {}) | dict(_IN_METHODS.get(model_type, {}))


@functools.cache
def _table() -> dict[str, dict[str, Any]]:
    """`transformers_defaults.csv`, which tests/acceptance/test_hugging_face_models.py compares with
    the classes."""
    text = resources.files(__package__).joinpath("transformers_defaults.csv").read_text("utf-8")
    found: dict[str, dict[str, Any]] = {}
    for row in csv.DictReader(text.splitlines()):
        found.setdefault(row["model_type"], {})[row["key"]] = json.loads(row["value"])
    return found
