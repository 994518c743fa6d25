"""Emitted files start from a Hugging Face checkpoint: their first loss is that of transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.support.deepspeed_runs import trained
from tests.acceptance.support.hugging_face import FAMILIES, SEQUENCE, references
from tests.acceptance.support.probe_runs import probe

STEPS, SEQUENCES = 20, 8
JOB = """
model tiny from std.{family} {{ {sizes} }}
cluster pair from std.dgx_h100 {{ nodes = 1; gpus_per_node = 2; cpu_cores = 2 }}
train {{
  seq_len = {sequence}; global_batch = {batch}; steps = {steps}; warmup = 0
  learning_rate = 1e-3; weights = "{folder}/checkpoint"
}}
goal {{ {conditions} }}
target deepspeed {{ adam = "torch"; log_interval = 1; data = "{folder}/tokens.bin"; {options} }}
"""
#: Family, conditions on the layout, options.
CASES = {
    "zero_0": ("llama3_1_8b", "require zero == 0", "accumulate = compute"),
    "zero_1": ("qwen3_8b", "require zero == 1; require pp == 1; require cp == 1", ""),
    "zero_2": ("qwen2_5_7b", "require zero == 2; require cp == 1", ""),
    "zero_3": ("llama3_2_1b", "require zero == 3; require cp == 1; require offload == none", ""),
    "ulysses": ("llama3_1_8b", "require zero == 3; require cp == 2", ""),
    "pp": ("qwen3_0_6b", "require pp == 2", ""),
    "hf": ("llama3_1_8b", "require zero == 1; require tp == 1", "model = hf"),
    "hf_tensor": ("llama3_8b", "require tp == 2", "model = hf"),
    "hf_qwen3": ("qwen3_8b", "require zero == 1; require tp == 1", "model = hf"),
    "hf_qwen2": ("qwen2_5_7b", "require zero == 2; require tp == 1", "model = hf"),
    "hf_zero_3": ("llama3_2_1b", "require zero == 3; require tp == 1", "model = hf"),
}
#: Of 16-bit weights and activations, as a share of the loss.
TOLERANCE = 5e-3


def text_of(family: str, conditions: str, options: str, folder: Path) -> str:
    sizes = "; ".join(f"{name} = {value}" for name, value in FAMILIES[family].items())
    return JOB.format(
        family=family,
        sizes=sizes,
        sequence=SEQUENCE,
        batch=SEQUENCES,
        steps=STEPS,
        folder=folder,
        conditions=conditions,
        options=options,
    )


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, float]]:
    """By family: a folder with a checkpoint and tokens, and the loss that transformers has on them."""
    folder = tmp_path_factory.mktemp("weights")
    families = sorted({family for family, _, _ in CASES.values()})
    made = references(families, folder)
    ids = [index * index % 127 for index in range(SEQUENCES * SEQUENCE + 1)]
    cases = []
    for family in families:
        place = Path(made[family]["folder"])
        tokens = place / "tokens.bin"
        tokens.write_bytes(b"".join(each.to_bytes(2, "little") for each in ids))
        case = {"name": family, "checkpoint": str(place / "checkpoint"), "tokens": str(tokens)}
        cases.append(case | {"sequence": SEQUENCE})
    losses = probe("deepspeed", "deepspeed_loss_probe", cases, folder)
    return {each["name"]: (folder / each["name"], each["loss"]) for each in losses}


def losses_of(text: str, folder: Path) -> list[float]:
    return trained(text, folder, SAVE=str(folder / "checkpoints"))[1]


@pytest.mark.parametrize("case", CASES)
def test_the_first_loss_is_that_of_transformers(
    case: str, checkpoints: dict[str, tuple[Path, float]], tmp_path: Path
) -> None:
    family, conditions, options = CASES[case]
    folder, wanted = checkpoints[family]
    found = losses_of(text_of(family, conditions, options, folder), tmp_path)
    assert len(found) == STEPS
    assert found[0] == pytest.approx(wanted, rel=TOLERANCE)
    assert found[-1] < 0.9 * found[0]


def test_a_checkpoint_of_another_model_is_refused(checkpoints: Any, tmp_path: Path) -> None:
    """Normed queries and keys are in the checkpoint alone."""
    folder, _ = checkpoints["qwen3_8b"]
    text = text_of("llama3_8b", "require zero == 1; require pp == 1; require cp == 1", "", folder)
    with pytest.raises(AssertionError, match="weights that the model lacks|has shape"):
        losses_of(text, tmp_path)
