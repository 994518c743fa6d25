"""Models of Hugging Face, by the smallest config.json that says each: settings, size, what is unsaid.

`tests/cases/huggingface/parameters.csv` has the parameters of the model that transformers 5.23.0 build of
the same file, and those that were published; tests/acceptance/test_hugging_face_models.py counts the former.
What a published number counts beside the model is in the column `includes`: layers of multi-token prediction
(`mtp`), and copies of the token table (`tables=2`).
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from parc.compiler.model.parameters import mtp, total
from parc.dsl import std_model
from parc.dsl.diagnostics import JobError
from parc.dsl.model import Model
from parc.reading.huggingface.config_settings import DescribedModel, read_model
from parc.reading.huggingface.defaults import defaults
from parc.reading.huggingface.families import CLASSES, FAMILIES, WRAPPERS
from parc.reading.huggingface.unneeded import NEUTRAL, UNNEEDED
from tests.support.paths import ROOT

CASES = ROOT / "tests" / "cases" / "huggingface"
COUNTS = {row["model"]: row for row in csv.DictReader((CASES / "parameters.csv").open())}
FILES = sorted(CASES.glob("*.json"))
#: What parameters may differ by that the language has no blocks for.
TOLERANCE = 0.005


def described(text: str | dict[str, Any]) -> DescribedModel:
    return read_model("config.json", text if isinstance(text, str) else json.dumps(text))


def of_case(name: str) -> DescribedModel:
    return described((CASES / f"{name}.json").read_text())


def unsaid(values: dict[str, Any]) -> list[str]:
    return [each.setting for each in described(values).unsaid]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_parameters_are_those_of_transformers_and_the_published_ones(path: Path) -> None:
    counts = COUNTS[path.stem]
    found = of_case(path.stem)
    own = total(found.model, seq_len=found.positions)
    assert own == pytest.approx(int(counts["transformers"]), rel=1e-4)
    if counts["published"]:
        more = counted_beside(found.model, counts["includes"])
        assert own + more == pytest.approx(float(counts["published"]), rel=TOLERANCE)


def counted_beside(model: Model, includes: str) -> int:
    more = 0
    for word in includes.split():
        kind, _, times = word.partition("=")
        more += mtp(model).total if kind == "mtp" else int(times) * model.vocab * model.hidden
    return more


def test_all_but_one_have_a_published_count_and_each_a_source() -> None:
    """That of Llama 4 Scout is of language and images together."""
    assert [name for name, row in COUNTS.items() if not row["published"]] == ["llama_4_scout"]
    assert all(row["source"] for row in COUNTS.values())


def test_every_family_has_a_case_and_every_case_a_count() -> None:
    assert {path.stem for path in FILES} == COUNTS.keys()
    assert {of_case(path.stem).family for path in FILES} == FAMILIES.keys()


@pytest.mark.parametrize(
    ("case", "entry", "other"),
    [
        ("llama_7b", "llama1_7b", {}),
        ("llama_2_70b", "llama2_70b", {}),
        ("llama_3_1_8b", "llama3_1_8b", {}),
        ("llama_3_2_1b", "llama3_2_1b", {}),
        ("mixtral_8x7b", "mixtral_8x7b", {}),
        ("qwen2_5_0_5b", "qwen2_5_0_5b", {}),
        ("qwen3_0_6b", "qwen3_0_6b", {}),
        ("qwen3_30b_a3b", "qwen3_30b_a3b", {"aux_loss_over": "global_batch"}),
        ("deepseek_v2", "deepseek_v2", {}),
        ("deepseek_v2_lite", "deepseek_v2_lite", {}),
        ("gpt_oss_20b", "gpt_oss_20b", {}),
        ("gpt_oss_120b", "gpt_oss_120b", {}),
        # The report has another weight of the loss than config.json, and deviations of the first weights.
        ("deepseek_v3", "deepseek_v3", {"aux_loss": 1e-4, "mtp_weight": 0.3, "init_std": 0.006}),
        ("kimi_k2", "kimi_k2", {"aux_loss": 1e-4, "mtp_weight": 0.3, "init_std": 0.006}),
    ],
)
def test_a_model_is_that_of_the_standard_library(
    case: str, entry: str, other: dict[str, object]
) -> None:
    found = of_case(case).model.model_dump()
    assert normal(found | other) == normal(std_model(entry).model_dump())


def normal(values: dict[str, Any]) -> dict[str, Any]:
    """With what follows from other settings."""
    model = Model.model_validate(values)
    own = {"name": "", "kv_heads": model.groups, "head_dim": model.head_size}
    latent = {"kv_heads": 0, "head_dim": 0} if model.mla else {}
    return values | own | {"expert_ffn": model.expert_width} | latent


LLAMA = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4}


def test_what_a_file_leaves_out_is_transformers_own() -> None:
    found = described(LLAMA)
    assert found.settings["layers"] == 32 and found.settings["vocab"] == 32000
    assert found.settings["norm_eps"] == 1e-6 and found.positions == 2048
    assert "num_hidden_layers = 32" in found.assumed
    assert not [each for each in found.assumed if "hidden_size" in each]


def test_an_unknown_key_is_named_with_its_line() -> None:
    text = json.dumps(LLAMA | {"shiny_new_norm": 3}, indent=1)
    (each,) = described(text).unsaid
    assert each.setting == "shiny_new_norm = 3" and each.line == 5
    assert str(each) == "shiny_new_norm = 3 (line 5): parc does not know this key"


def test_keys_without_a_meaning_for_layouts_are_not_named() -> None:
    values = LLAMA | {"bos_token_id": 1, "torch_dtype": "bfloat16", "use_cache": True}
    assert unsaid(values) == []
    assert unsaid(LLAMA | {"router_jitter_noise": 0.0}) == []
    assert unsaid(LLAMA | {"router_jitter_noise": 0.1}) == ["router_jitter_noise = 0.1"]


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_no_family_needs_what_is_called_unneeded(family: str) -> None:
    """Reading with every unneeded key given another value finds the same model."""
    values = {"model_type": family, "num_experts_per_tok": 2}
    odd: dict[str, Any] = {key: "odd" for key in UNNEEDED if key != "model_type"}
    assert described(values | odd).settings == described(values).settings


def test_a_key_has_one_place() -> None:
    assert not UNNEEDED.keys() & NEUTRAL.keys()
    read = {key for family in FAMILIES for key in defaults(CLASSES.get(family, family))}
    assert not UNNEEDED.keys() & read
    assert all(reason and not reason.endswith(".") for reason in UNNEEDED.values())
    assert set(WRAPPERS.values()) <= FAMILIES.keys()


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"hidden_act": "xielu"}, 'hidden_act = "xielu"'),
        ({"mlp_bias": True}, "mlp_bias = true"),
        ({"attention_bias": True}, "attention_bias = true"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor = 0.5"),
        (
            {"rope_scaling": {"type": "dynamic", "factor": 2.0}},
            'rope_scaling.type = "dynamic", rope_scaling.factor = 2.0',
        ),
        (
            {"attention_dropout": 0.1, "hidden_dropout": 0.2},
            "attention_dropout = 0.1, hidden_dropout = 0.2",
        ),
    ],
)
def test_what_the_language_lacks_is_named(more: dict[str, Any], named: str) -> None:
    assert unsaid(LLAMA | more) == [named]


def test_positions_in_the_keys_of_transformers_5() -> None:
    old = {"rope_theta": 5e5, "rope_scaling": {"rope_type": "linear", "factor": 4.0}}
    new = {"rope_parameters": {"rope_type": "linear", "factor": 4.0, "rope_theta": 5e5}}
    assert described(LLAMA | old).settings == described(LLAMA | new).settings
    assert described(LLAMA | new).settings["rope_theta"] == 5e5


QWEN2 = {"model_type": "qwen2", "num_hidden_layers": 4, "use_sliding_window": True}


def test_windows_follow_a_rhythm_or_are_named() -> None:
    kinds = ["sliding_attention", "full_attention"] * 2
    found = described(QWEN2 | {"layer_types": kinds, "sliding_window": 64})
    assert (found.settings["window"], found.settings["full_attention_every"]) == (64, 2)
    ragged = kinds[:3] + kinds[2:3]
    assert unsaid(QWEN2 | {"layer_types": ragged, "sliding_window": 64}) == [
        'layer_types = ["sliding_attention", "full_attention", "sliding_attention",...'
    ]
    assert "window" not in described(QWEN2 | {"sliding_window": 32768}).settings


def test_dense_layers_between_others_are_counted_and_named() -> None:
    values = {"model_type": "qwen3_moe", "num_hidden_layers": 6, "decoder_sparse_step": 2}
    found = described(values)
    assert found.settings["dense_layers"] == 3
    assert [each.setting for each in found.unsaid] == ["decoder_sparse_step = 2"]


@pytest.mark.parametrize(
    ("text", "code", "said", "column"),
    [
        ("[1]", "PAR164", "`config.json` does not say its `model_type`", None),
        ("{", "PAR164", "`config.json` is not valid JSON", None),
        ('{"model_type": 3}', "PAR164", "does not say its `model_type`", None),
        ('{"model_type": "lama"}', "PAR165", "parc does not know the blocks of `lama`", 2),
        ('{"model_type": "llama", "hidden_size": "8"}', "PAR166", '`hidden_size` is "8"', 25),
        ('{"model_type": "llama", "hidden_size": 0}', "PAR166", "not a whole number above 0", 25),
        ('{"model_type": "llama", "hidden_size": -1}', "PAR166", "which is not a whole number", 25),
        ('{"model_type": "qwen2", "num_hidden_layers": 1e30}', "PAR166", "at most 10,000", 25),
        ('{"model_type": "llama", "rms_norm_eps": true}', "PAR166", "not a number", 25),
        ('{"model_type": "llama", "rms_norm_eps": 1e999}', "PAR166", "not a number", 25),
        ('{"model_type": "llama", "hidden_act": 1}', "PAR166", "which is not a text", 25),
        ('{"model_type": "llama", "rope_scaling": 1}', "PAR166", "which is not an object", 25),
        ('{"model_type": "llama", "tie_word_embeddings": 1}', "PAR166", "not true or false", 25),
        ('{"model_type": "deepseek_v2"}', "PAR166", "`num_experts_per_tok` is missing", None),
        ('{"model_type": "olmo3", "layer_types": 1}', "PAR166", "which is not a list", 25),
    ],
)
def test_a_bad_file_has_a_place_and_a_cure(
    text: str, code: str, said: str, column: int | None
) -> None:
    with pytest.raises(JobError) as caught:
        described(text)
    first = caught.value.diagnostics[0]
    assert first.code == code and said in first.message and first.help
    assert (first.span.column if first.span else None) == column


def test_all_bad_values_are_told_at_once() -> None:
    with pytest.raises(JobError) as caught:
        described({"model_type": "llama", "hidden_size": [], "vocab_size": None, "rope_theta": "x"})
    assert len(caught.value.diagnostics) == 3
