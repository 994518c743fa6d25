"""The dimensions that a row states -> the model that ran: what they leave open is the standard library's
model of that name, or its family's habit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from pydantic import ValidationError

from benchmarks.accuracy.rows.csv_rows import Row, Unusable
from parc.dsl import std_entries, std_model
from parc.dsl.job import Train
from parc.dsl.model import Model


@dataclass(frozen=True)
class Family:
    """Fields of `Model` that a table of dimensions does not give for an architecture."""

    pattern: str
    fields: dict[str, Any]


LAYERNORM = {"norm": "layernorm"}
#: Found in the model's name; the first counts.
FAMILIES = (
    # llmfoundry/models/mpt: ALiBi, no biases, tied.
    Family("^MPT", {**LAYERNORM, "position": "none", "bias": False, "tied": True}),
    # arXiv 2402.16819: squared ReLU, rope, no biases, untied.
    Family(
        "^Nemotron",
        {
            **LAYERNORM,
            "position": "rope",
            "bias": False,
            "tied": False,
            "activation": "squared_relu",
        },
    ),
    # train/tr11-176B-ml/README.md: ALiBi, tied.
    Family("^BLOOM", {**LAYERNORM, "position": "none", "bias": True, "tied": True}),
    Family("^Qwen-?2", {"qkv_bias": True}),
    Family("^Qwen-?3", {"qk_norm": True}),
    Family("^GPT-OSS", {"bias": True, "glu_clamp": 7.0}),
    Family("", {}),
)
#: Feed-forward gated or not, when no family decides: Llama's and GPT-2's conventions.
PLAIN = {**LAYERNORM, "position": "learned", "bias": True, "tied": True}
GATED: dict[str, Any] = {}
#: Mamba layers between attention and experts (Nemotron-H, arXiv 2504.03624, and its successors).
HYBRIDS = r"^Nemotron-?(H|3[.-])"
#: Parts of a model's name, in small letters and digits, that say nothing of its dimensions, and what is left.
ALIKE = ((r"^llama3[13](?=(8|70|405)b)", "llama3"), (r"(base|instruct|chat|hf|v0\d)$", ""))


def model_of(row: Row) -> Model:
    """Raises Unusable when dimensions are missing or impossible."""
    stated = {key: value for key, value in _dimensions(row).items() if value is not None}
    known = _known(row.model)
    base = _cut(std_model(known), row) if known else _conventions(row, stated)
    fields = {**base, **stated}
    if fields["hidden"] % fields["heads"] and not fields.get("head_dim"):
        raise Unusable("impossible dimensions: hidden is no multiple of heads")
    for name in ("dense_layers", "mtp_layers"):
        if fields.get(name, 0) > fields["layers"]:
            raise Unusable(f"impossible `{name}`: more than layers")
    return checked(Model, fields)


def _cut(model: Model, row: Row) -> dict[str, Any]:
    """A known model as it ran: one with fewer layers has neither the leading dense layers nor the MTP layers
    of the whole."""
    whole = model.model_dump()
    fewer = row.layers is not None and row.layers < model.layers
    return {**whole, "dense_layers": 0, "mtp_layers": 0} if fewer else whole


def _conventions(row: Row, stated: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that a model outside the standard library takes from its family."""
    if re.search(HYBRIDS, row.model):
        raise Unusable("state-space layers are not in the language")
    assumed = {"vocab": 1} if row.layers == 1 else {}
    if not {"layers", "hidden", "heads", "ffn", "vocab"} <= {*assumed, *stated}:
        raise Unusable("model dimensions not stated")
    habits = next(each.fields for each in FAMILIES if re.search(each.pattern, row.model))
    plain = GATED if row.gated_mlp else PLAIN
    return {"name": row.model, **assumed, **plain, **habits}


def _known(name: str) -> str | None:
    """The model of the standard library that a row means by a name alone."""
    plain = _plain(name)
    for pattern, other in ALIKE:
        plain = re.sub(pattern, other, plain)
    return _standard_models().get(plain)


@cache
def _standard_models() -> dict[str, str]:
    return {_plain(entry.name): entry.name for entry in std_entries() if entry.kind == "model"}


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower().partition("[")[0])


def _dimensions(row: Row) -> dict[str, Any]:
    experts = row.experts or None
    return {
        "layers": row.layers,
        "hidden": row.hidden,
        "heads": row.heads,
        "kv_heads": row.kv_heads,
        "ffn": row.ffn_hidden or row.moe_ffn_hidden,
        "vocab": row.vocab,
        "gated": None if row.gated_mlp is None else bool(row.gated_mlp),
        "head_dim": row.head_dim,
        "experts": experts,
        "topk": row.topk if experts else None,
        "expert_ffn": row.moe_ffn_hidden if experts else None,
        "dense_layers": row.dense_layers,
        "mtp_layers": row.mtp_layers,
    }


Checked = TypeVar("Checked", Model, Train)


def checked(kind: type[Checked], values: Mapping[str, Any]) -> Checked:
    """Raises Unusable where the language takes no such value."""
    try:
        return kind.model_validate(dict(values))
    except ValidationError as error:
        places = error.errors()[0]["loc"]
        raise Unusable(f"impossible `{places[0] if places else kind.__name__.lower()}`") from None
