"""The model that torchtitan makes of emitted files has transformers' loss and gradients, in fp32 on a CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from parc.backends import BACKENDS
from parc.backends.torchtitan.options import Options
from parc.compiler import plan
from parc.dsl.job import Job
from parc.dsl.model import Model
from tests.acceptance.support.hugging_face import BATCH, FAMILIES, SEQUENCE, references, tiny
from tests.acceptance.support.probe_runs import probe
from tests.acceptance.support.recorded_launches import write
from tests.support.sample_plans import sample_job, train_of

TARGET = BACKENDS["torchtitan"].target
#: Of the loss, and of a gradient's entries relative to its largest one.
LOSS, GRADIENT = 1e-4, 1e-3
#: Environment -> version of the target, and the probe that runs there.
RELEASES = {
    "torchtitan-0.2.0": ("0.2.0", "torchtitan_forward_probe"),
    "torchtitan-0.2.2": ("0.2.2", "torchtitan_forward_probe"),
    "torchtitan-0.3.0": ("0.3", "torchtitan_python_forward_probe"),
}
#: Family and environment -> code of the refusal; all others are claimed.
REFUSED = {
    ("qwen2_5_7b", "torchtitan-0.2.0"): "PAR353",
    ("llama3_2_1b", "torchtitan-0.2.0"): "PAR456",
    ("qwen3_0_6b", "torchtitan-0.2.0"): "PAR456",
    ("deepseek_v3", "torchtitan-0.2.0"): "PAR363",
    ("gpt_oss_20b", "torchtitan-0.2.0"): "PAR368",
    ("qwen2_5_7b", "torchtitan-0.2.2"): "PAR353",
    ("qwen2_5_7b", "torchtitan-0.3.0"): "PAR353",
    ("deepseek_v2_lite", "torchtitan-0.3.0"): "PAR368",
    ("deepseek_v3", "torchtitan-0.3.0"): "PAR368",
    ("gpt_oss_20b", "torchtitan-0.3.0"): "PAR368",
}
SPOILED_RELEASES = ("torchtitan-0.2.0", "torchtitan-0.2.2")
#: Family -> a setting of its file, and what makes another model of it.
SPOILED = {
    "llama3_1_8b": ("scaling_factor=8.0", "scaling_factor=1.0"),
    "llama3_2_1b": ("low_freq_factor=1.0", "low_freq_factor=3.0"),
    "qwen3_30b_a3b": ("route_norm=True", "route_norm=False"),
    "deepseek_v2_lite": ("original_seq_len + 1", "original_seq_len"),
    "deepseek_v3": ("mscale=1.0", "mscale=0.0"),
    "gpt_oss_20b": ("sliding_window_size=16", "sliding_window_size=64"),
}


def job_of(model: Model, release: str) -> Job:
    options = Options.model_validate({"version": RELEASES[release][0]})
    train = train_of(seq_len=SEQUENCE, global_batch=BATCH, steps=10, warmup=1)
    return sample_job("torchtitan", options, model=model, train=train, gpus_per_node=1)


def emitted(model: Model, release: str, folder: Path) -> Path:
    files = BACKENDS["torchtitan"].emit(plan(job_of(model, release), TARGET))
    return write(files, folder) / "torchtitan"


def claimed(release: str) -> list[str]:
    return [name for name in FAMILIES if (name, release) not in REFUSED]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    names = [name for name in FAMILIES if any(name in claimed(release) for release in RELEASES)]
    return references(names, tmp_path_factory.mktemp("transformers"))


@pytest.fixture(scope="module", params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def answers(
    release: str, expected: dict[str, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, Any]]:
    """By family, and of the spoiled files of 0.2 by family and " spoiled"."""
    folder = tmp_path_factory.mktemp("torchtitan")
    cases = []
    for name in claimed(release):
        search = emitted(tiny(name), release, folder / name)
        cases.append(_case(name, search, expected[name]["folder"]))
        if release in SPOILED_RELEASES and name in SPOILED:
            search = emitted(tiny(name), release, folder / f"{name} spoiled")
            module = search / "parc_model.py"
            text, (before, after) = module.read_text(), SPOILED[name]
            assert before in text, name
            module.write_text(text.replace(before, after))
            cases.append(_case(f"{name} spoiled", search, expected[name]["folder"]))
    return {
        answer["name"]: answer for answer in probe(release, RELEASES[release][1], cases, folder)
    }


def _case(name: str, search: Path, reference: str) -> dict[str, Any]:
    return {"name": name, "search": str(search), "reference": reference}


def test_loss_and_gradients_are_those_of_transformers(
    release: str, answers: dict[str, dict[str, Any]], expected: dict[str, dict[str, Any]]
) -> None:
    for name in claimed(release):
        answer = answers[name]
        assert answer["stage"] == "compared", answer
        assert answer["loss"] == pytest.approx(expected[name]["loss"], abs=LOSS), name
        assert answer["missing"] == [], name
        assert max(answer["deviation"].values()) < GRADIENT, (name, answer["deviation"])


def test_another_model_is_told_apart(
    answers: dict[str, dict[str, Any]], expected: dict[str, dict[str, Any]]
) -> None:
    for name, answer in answers.items():
        if name.endswith(" spoiled"):
            right = expected[name.removesuffix(" spoiled")]["loss"]
            assert abs(answer["loss"] - right) > 3 * LOSS, name
            assert max(answer["deviation"].values()) > 10 * GRADIENT, name


@pytest.mark.parametrize("name, environment", REFUSED)
def test_what_a_release_lacks_is_refused_by_name(name: str, environment: str) -> None:
    found = TARGET.refuses(job_of(tiny(name), environment))
    assert [refusal.code for refusal in found] == [REFUSED[name, environment]]


#: Ends of the names of matrices that write to the residual stream, in both releases.
RESIDUAL = ("wo.weight", "w2.weight", "experts.w2", "experts.w2_EDF", "experts.mlp2_weight")
#: Smaller tensors say too little of a deviation.
ENOUGH = 1000
BEGUN = {
    "llama3_8b": {"init_std": 0.006, "init_scaled": True},
    "qwen3_0_6b": {"init_std": 0.1, "init_scaled": False},
    "qwen3_30b_a3b": {"init_std": 0.05, "init_scaled": True, "shared_experts": 1},
    "deepseek_v3": {"init_std": 0.01, "init_scaled": True},
    "gpt_oss_20b": {"init_std": 0.03, "init_scaled": False},
}


def test_first_weights_are_the_jobs(release: str, tmp_path: Path) -> None:
    models = {
        name: tiny(name).model_copy(update=settings)
        for name, settings in BEGUN.items()
        if name in claimed(release)
    }
    cases = [
        {"name": name, "search": str(emitted(model, release, tmp_path / name))}
        for name, model in models.items()
    ]
    for answer in probe(release, RELEASES[release][1], cases, tmp_path):
        model = models[answer["name"]]
        assert answer["stage"] == "compared", answer
        for name, (count, mean, deviation) in answer["spread"].items():
            _check(model, name, count, mean, deviation)


def _check(model: Model, name: str, count: int, mean: float, deviation: float) -> None:
    if "norm" in name:
        assert (mean, deviation) == (1, 0), name
    elif name.endswith("bias"):
        assert (mean, deviation) == (0, 0), name
    elif count >= ENOUGH:
        scaled = model.init_scaled and name.endswith(RESIDUAL)
        wanted = model.init_std / ((2 * model.layers) ** 0.5 if scaled else 1)
        assert deviation == pytest.approx(wanted, rel=0.1), name
        assert abs(mean) < 0.2 * wanted, name


def test_a_bias_of_the_choice_moves(tmp_path: Path) -> None:
    """0.2.2's own qwen3 has an optimizer that never moves it."""
    release, name = "torchtitan-0.2.2", "qwen3_30b_a3b"
    rates = {"still": 0.0, "moved": 0.001}
    cases = [
        {"name": case, "search": str(emitted(model, release, tmp_path / case))}
        for case, rate in rates.items()
        for model in [tiny(name).model_copy(update={"router_bias_rate": rate})]
    ]
    found = {
        answer["name"]: answer for answer in probe(release, RELEASES[release][1], cases, tmp_path)
    }
    assert found["still"]["optimizers"] == "build_optimizers"
    assert found["moved"]["optimizers"] == "build_optimizers_with_moe_load_balancing"
