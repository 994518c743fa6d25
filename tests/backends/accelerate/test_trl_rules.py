"""accelerate's rule, refusals, domains and bytes per parameter."""

from __future__ import annotations

import numpy as np
import pytest

from parc.api import plan_targets
from parc.backends.accelerate import BACKEND
from parc.backends.accelerate.options import Options
from parc.compiler.target import holds
from parc.compiler.tuning.ledger import ledger, scale_bytes, trained_share
from parc.dsl import loads, std_model
from parc.dsl.job import Job
from parc.dsl.model import Model
from parc.dsl.settings import Data
from parc.dsl.tuning import Adapters
from tests.support import sample_plans
from tests.support.refusal_lines import assert_lines_clear
from tests.support.sample_plans import LLAMA3_8B, MIXTRAL_8X7B, QWEN3_8B, train_of

TARGET = BACKEND.target
RULES = {rule.code: rule for rule in TARGET.predicates}
GIB = 2**30
LATENT = std_model("deepseek_v3").model_copy(
    update={"mtp_layers": 0, "experts": 0, "topk": 0, "shared_experts": 0, "dense_layers": 0}
)


def changed(model: Model, **fields: object) -> Model:
    return model.model_copy(update=fields)


def job_of(model: Model = LLAMA3_8B, options: Options | None = None, **train: object) -> Job:
    return sample_plans.sample_job("accelerate", options, model=model, train=train_of(**train))


REFUSED = {
    "PAR320": sample_plans.sample_job("accelerate", gpu=sample_plans.TPU_V5P, train=train_of()),
    "PAR321": job_of(optimizer="sgd"),
    "PAR359": job_of(precision="fp16"),
    "PAR356": job_of(changed(LLAMA3_8B, mtp_layers=1)),
    "PAR420": job_of(MIXTRAL_8X7B),
    "PAR421": job_of(LATENT),
    "PAR434": job_of(async_checkpoints=True),
    "PAR362": job_of(dropout=0.1),
    "PAR469": job_of(changed(LLAMA3_8B, norm="layernorm")),
    "PAR493": job_of().model_copy(update={"previous": job_of()}),
    "PAR494": job_of(ramp_from=64, ramp_tokens=10**7),
    "PAR495": job_of(compile=True),
    "PAR497": job_of(schedule="wsd", decay_style="exponential"),
}


@pytest.mark.parametrize("code", REFUSED)
def test_what_accelerate_lacks_is_refused_with_a_cure(code: str) -> None:
    found = TARGET.refuses(REFUSED[code])
    assert code in [diagnostic.code for diagnostic in found]
    assert found[0].help and not found[0].message[0].isupper()
    assert_lines_clear(TARGET, REFUSED[code])


def test_every_refusal_has_its_case() -> None:
    """Those of features of models have theirs in test_model_features."""
    own = {refusal.code for refusal in TARGET.refusals if refusal.path[0] != "model"}
    assert own <= set(REFUSED)


@pytest.mark.parametrize("model", [LLAMA3_8B, QWEN3_8B], ids=lambda model: model.name)
@pytest.mark.parametrize("tune", ["full", "lora", "qlora"])
def test_what_it_trains_is_not_refused(model: Model, tune: str) -> None:
    assert TARGET.refuses(job_of(model, weights="/models/llama", tune=tune)) == []


def test_replicas_are_divided() -> None:
    rule = RULES["PAR492"]
    columns = {"dp_replicate": np.array([1, 1, 2, 2]), "dp_shard": np.array([1, 8, 1, 4])}
    found = np.asarray(holds(rule, job_of(), columns))
    assert found.tolist() == [True, True, False, True]


@pytest.mark.parametrize(
    ("gpu", "allowed"),
    # 5.3 GiB of 8B weights as they lie, and their parts beside them: 10.6 GiB on one GPU, 6.1 on eight.
    [(8, [False, False, True]), (16, [True, True, True])],
)
def test_a_gpu_has_room_to_read_weights_in_four_bits(gpu: int, allowed: list[bool]) -> None:
    job = job_of(weights="/models/llama", tune="qlora")
    small = job.cluster.gpu.model_copy(update={"memory": gpu * GIB, "reserve": GIB // 2})
    job = job.model_copy(update={"cluster": job.cluster.model_copy(update={"gpu": small})})
    rule, columns = RULES["PAR465"], {"dp_shard": np.array([1, 2, 8])}
    assert np.asarray(holds(rule, job, columns)).tolist() == allowed
    assert "dp_shard 1: 10.6 GiB" in rule.message(job, dp_shard=1) and "tune = lora" in rule.cure
    sixteen = job.model_copy(update={"train": train_of(weights="/models/llama", tune="lora")})
    assert np.all(holds(rule, sixteen, columns))


def test_weights_that_no_gpu_can_read_are_told_with_a_cure() -> None:
    text = (
        "model from std.llama3_1_70b {}\ncluster from std.rtx4090_box { gpus_per_node = 8 }\n"
        "train { seq_len = 2048; global_batch = 64; steps = 9; weights = 'x'; tune = qlora }\n"
        "target accelerate {}\n"
    ).replace("'", '"')
    (found,) = plan_targets(loads(text, targets={"accelerate": Options})).diagnostics()
    assert "PAR465" in found.notes[0].message and "tune = lora" in str(found.help)


def test_several_files_are_told() -> None:
    data = Data(parts=(("a.bin", 1.0), ("b.bin", 2.0)))
    (found,) = TARGET.settings(job_of(options=Options(data=data)))
    assert found.code == "PAR498" and "not 2" in found.message


def test_states_take_sixteen_bytes_of_what_is_trained() -> None:
    def held(job: Job, zero: int) -> float:
        state = TARGET.traits.memory.state(job, zero)
        return state.weights + state.gradients + state.optimizer + state.gathered

    assert held(job_of(), 3) == 16 and held(job_of(), 2) == 18
    lora = job_of(weights="/models/llama", tune="lora")
    assert held(lora, 3) == pytest.approx(2 + 16 * trained_share(lora))


def test_states_in_four_bits_are_those_of_the_ledger() -> None:
    """What is divided, and the scales that are not, are all frozen bytes; a gathered copy has no scales."""
    job = job_of(weights="/models/llama", tune="qlora", adapter_rank=8)
    sheet = ledger(LLAMA3_8B, "qlora", Adapters(rank=8))
    whole = sheet.frozen_parameters
    state, scales = TARGET.traits.memory.state(job, 2), scale_bytes(job)
    assert 0.015 < scales / sheet.quantized_parameters < 0.017
    frozen = sheet.frozen_bytes + sheet.quantized_bytes
    assert state.unsaved * whole == pytest.approx(frozen)
    assert state.weights * whole == pytest.approx(frozen - scales + sheet.trained_bytes)
    assert state.gathered * whole == pytest.approx(frozen - scales + sheet.trained_bytes / 2)
    assert state.optimizer * whole == pytest.approx(8 * sheet.trained_parameters)


def test_adapters_cost_less_than_all_weights() -> None:
    text = (
        "model from std.llama3_1_8b {{ }}\ncluster from std.dgx_a100 {{ }}\n"
        "train {{ seq_len = 2048; global_batch = 64; steps = 100; weights = 'x'; tune = {} }}\n"
        "target accelerate {{ }}\n"
    ).replace("'", '"')
    from parc import estimate

    priced = [
        estimate(
            loads(text.format(tune), targets={"accelerate": Options}),
            {"dp_shard": 8, "zero": 3, "micro_batch": 1, "recompute": 2},
            "accelerate",
        )
        for tune in ("full", "lora", "qlora")
    ]
    full, lora, packed = priced
    assert lora.memory_bytes < 0.6 * full.memory_bytes
    assert lora.step_seconds < full.step_seconds
    # An eighth of 7 billion projections at 1.5 bytes less each, two gathered layers of them, and the scales
    # and one widened matrix more.
    assert 1.4e9 < lora.memory_bytes - packed.memory_bytes < 2.0e9
    # Widened for each product, and gathered in a third of the bytes.
    assert 0.9 < packed.step_seconds / lora.step_seconds < 1.2
