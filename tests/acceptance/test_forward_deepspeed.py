"""The model of an emitted train.py has the loss and gradients of Hugging Face's with the same weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from parc.backends.deepspeed import BACKEND
from parc.backends.deepspeed.options import Options
from parc.compiler.plan import Layout
from parc.dsl.diagnostics import JobError
from parc.dsl.model import Model
from tests.acceptance.support import hugging_face
from tests.acceptance.support.hugging_face import BATCH, FAMILIES, SEQUENCE, tiny
from tests.acceptance.support.probe_runs import probe
from tests.acceptance.support.recorded_launches import write
from tests.support.sample_plans import sample_plan, train_of

HF = Options(model="hf")
LLAMA = tiny("llama3_8b")
ONE = tiny("gpt_oss_20b").model_copy(update={"experts": 1, "topk": 1, "glu_clamp": 1.0})
YARN = {"rope_scaling": "yarn", "rope_factor": 8.0, "rope_original_positions": 16}
#: Models as transformers has them. gpt-oss has one expert here, which every token visits: a dense model
#: with sinks, windows, YaRN, biases and clamped gates.
REFERENCES = {
    **{name: tiny(name) for name in FAMILIES if not (tiny(name).moe or tiny(name).mla)},
    "linear": LLAMA.model_copy(update={"rope_scaling": "linear", "rope_factor": 4.0}),
    "yarn": LLAMA.model_copy(update=YARN),
    "biases": LLAMA.model_copy(update={"bias": True}),
    "gpt_oss": ONE,
}
REFUSED = {name: tiny(name) for name in FAMILIES if tiny(name).moe or tiny(name).mla}
PIPELINE = Layout(pp=2, zero=1)
#: Reference -> ways to emit it: options, layout, settings of `train`.
WAYS: dict[str, tuple[Options | None, Layout, dict[str, Any]]] = {
    "native": (None, Layout(zero=1), {}),
    "recomputed": (None, Layout(zero=1, recompute=2), {}),
    "unfused": (None, Layout(zero=1), {"attention": "unfused"}),
    "pipeline": (None, PIPELINE, {}),
    "hf": (HF, Layout(zero=1), {}),
}
LLAMAS = [name for name in REFERENCES if name.startswith("llama") or name in ("linear", "yarn")]
CASES = [
    *((name, "native") for name in REFERENCES),
    *((name, "hf") for name in (*LLAMAS, "biases", "qwen2_5_7b", "qwen3_8b", "qwen3_0_6b")),
    *(("gpt_oss", way) for way in ("unfused", "recomputed", "pipeline")),
    ("llama3_2_1b", "pipeline"),
    ("qwen3_8b", "pipeline"),
]
#: A text of train.py, and another in its place that computes something else.
MUTATIONS = {
    "rope scaling": ("llama3_1_8b", "kept + (1 - kept) / config.rope_factor", "1.0"),
    "norm of queries": ("qwen3_8b", "self.query_norm(query), ", "2 * self.query_norm(query), "),
    "windows": ("gpt_oss", "(index + 1) %", "index %"),
    "sinks": ("gpt_oss", "key[:, :, -1, size] = 1", "key[:, :, -1, size] = 0"),
    "clamp": ("gpt_oss", ".clamp(max=1.0)", ""),
    "offset": ("gpt_oss", "(up + 1.0)", "up"),
    "magnitude": ("yarn", "return (growth", "return 1 + 0 * (growth"),
}
#: fp32 on both sides.
TOLERANCE = 2e-4


def dense(model: Model) -> Model:
    return model.model_copy(update={"experts": 0, "topk": 0}) if model.experts == 1 else model


def case_of(name: str, way: str, folder: Path, *mutation: str) -> dict[str, Any]:
    """Files of a job that starts from the reference's weights, and where the reference lies."""
    options, layout, changed = WAYS[way]
    train = train_of(seq_len=SEQUENCE, global_batch=BATCH, weights="checkpoint", **changed)
    model = dense(REFERENCES[name])
    files = BACKEND.emit(sample_plan("deepspeed", options, model=model, layout=layout, train=train))
    title = "-".join((name, way, *mutation[:1]))
    return {
        "name": title,
        "folder": str(write(files, folder / title) / "deepspeed"),
        "reference": str(folder / name),
        "mutation": list(mutation[1:]) or None,
    }


@pytest.fixture(scope="module")
def computed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[float, dict[str, Any]]]:
    """By case: the loss of transformers, and the probe's answer."""
    folder = tmp_path_factory.mktemp("forward")
    losses = {
        name: answer["loss"] for name, answer in hugging_face.computed(REFERENCES, folder).items()
    }
    cases = [case_of(name, way, folder) for name, way in CASES]
    cases += [
        case_of(name, "native", folder, title, old, new)
        for title, (name, old, new) in MUTATIONS.items()
    ]
    answers = probe("deepspeed", "deepspeed_forward_probe", cases, folder)
    return {answer["name"]: (losses[answer["name"].split("-")[0]], answer) for answer in answers}


def worst(answer: dict[str, Any]) -> float:
    assert answer["stage"] == "computed", answer
    return float(max(answer["differences"].values()))


@pytest.mark.parametrize(("name", "way"), CASES)
def test_loss_and_gradients_are_those_of_transformers(name: str, way: str, computed: Any) -> None:
    loss, answer = computed[f"{name}-{way}"]
    assert answer["stage"] == "computed", answer
    assert answer["missing"] == []
    assert answer["loss"] == pytest.approx(loss, rel=TOLERANCE)
    assert worst(answer) < TOLERANCE, answer["differences"]


@pytest.mark.parametrize("title", MUTATIONS)
def test_another_model_is_found_out(title: str, computed: Any) -> None:
    _, answer = computed[f"{MUTATIONS[title][0]}-native-{title}"]
    assert worst(answer) > 50 * TOLERANCE


@pytest.mark.parametrize("name", REFUSED)
def test_other_families_are_refused_by_name(name: str) -> None:
    model = REFUSED[name]
    with pytest.raises(JobError) as refused:
        BACKEND.emit(sample_plan("deepspeed", model=model))
    said = " ".join(found.message for found in refused.value.diagnostics)
    assert f"experts = {model.experts}" in said
    assert f"kv_lora_rank = {model.kv_lora_rank}" in said or not model.mla
