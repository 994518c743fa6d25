"""Emitted files train peft's adapters: the first loss is that of transformers, it falls, and what is saved
merges into the checkpoint; and what the ledger counts is what the libraries hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from parc.compiler.tuning.ledger import ledger
from parc.dsl.model import Model
from parc.dsl.tuning import Adapters
from tests.acceptance.support.deepspeed_runs import trained
from tests.acceptance.support.hugging_face import FAMILIES, SEQUENCE, references
from tests.acceptance.support.probe_runs import probe

PACKAGES = "deepspeed-peft"
FAMILY = "llama3_1_8b"
STEPS, SEQUENCES = 20, 8
#: Of 16-bit weights and activations, as a share of the loss; of 4-bit weights.
TOLERANCE, PACKED_TOLERANCE = 1e-2, 4e-2
JOB = """
model tiny from std.{family} {{ {sizes} }}
cluster pair from std.dgx_h100 {{ nodes = 1; gpus_per_node = 2; cpu_cores = 2 }}
train {{
  seq_len = {sequence}; global_batch = {batch}; steps = {steps}; warmup = 0
  learning_rate = 1e-2; weights = "{folder}/checkpoint"; tune = {tune}; adapter_rank = 8; {settings}
}}
goal {{ {conditions} }}
target deepspeed {{ model = hf; adam = "torch"; log_interval = 1; data = "{folder}/tokens.bin" }}
"""
#: Conditions on the layout, settings of `train`.
CASES = {
    "zero_0": ("require zero == 0", ""),
    "zero_1": ("require zero == 1", "adapter_targets = attention"),
    "zero_2": ("require zero == 2; require recompute == full", ""),
    "zero_3": ("require zero == 3", "adapter_dropout = 0.1"),
    "4 bits, zero_0": ("require zero == 0", "adapter_targets = attention"),
    "4 bits, zero_1": ("require zero == 1; require recompute == full", ""),
    "4 bits, zero_2": ("require zero == 2", "adapter_dropout = 0.1"),
}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """A folder with a checkpoint and tokens, and the loss that transformers has on them."""
    folder = tmp_path_factory.mktemp("adapters")
    place = Path(references([FAMILY], folder)[FAMILY]["folder"])
    ids = [index * index % 127 for index in range(SEQUENCES * SEQUENCE + 1)]
    (place / "tokens.bin").write_bytes(b"".join(each.to_bytes(2, "little") for each in ids))
    case = {"name": FAMILY, "sequence": SEQUENCE, "checkpoint": str(place / "checkpoint")}
    case["tokens"] = str(place / "tokens.bin")
    (answer,) = probe(PACKAGES, "deepspeed_loss_probe", [case], folder)
    return place, answer["loss"]


@pytest.mark.parametrize("name", CASES)
def test_adapters_are_trained_saved_and_merged(
    name: str, checkpoint: tuple[Path, float], tmp_path: Path
) -> None:
    place, first = checkpoint
    conditions, settings = CASES[name]
    packed = name.startswith("4 bits")
    tolerance = PACKED_TOLERANCE if packed else TOLERANCE
    text = JOB.format(
        family=FAMILY,
        sizes="; ".join(f"{key} = {value}" for key, value in FAMILIES[FAMILY].items()),
        sequence=SEQUENCE,
        batch=SEQUENCES,
        steps=STEPS,
        folder=place,
        tune="qlora" if packed else "lora",
        conditions=conditions,
        settings=settings,
    )
    saved = tmp_path / "checkpoints"
    losses = trained(text, tmp_path, PACKAGES, SAVE=str(saved))[1]
    assert len(losses) == STEPS
    assert losses[0] == pytest.approx(first, rel=tolerance)
    assert losses[-1] < 0.95 * losses[0]
    case = {"name": name, "sequence": SEQUENCE, "checkpoint": str(place / "checkpoint")}
    case |= {
        "tokens": str(place / "tokens.bin"),
        "adapter": str(saved / f"step{STEPS}" / "adapter"),
    }
    case |= {"four_bits": packed}
    (answer,) = probe(PACKAGES, "adapters_probe", [case], tmp_path)
    assert answer["loss"] < losses[-2] + tolerance * first


def test_the_ledger_is_what_the_libraries_hold(tmp_path: Path) -> None:
    """Trained, frozen and quantized bytes of small models, on real tensors."""
    sizes: dict[str, Any] = {
        "layers": 2,
        "hidden": 128,
        "heads": 4,
        "kv_heads": 2,
        "ffn": 352,
        "vocab": 1000,
    }
    models = {
        "llama": Model(**sizes, tied=True),
        "qwen2": Model(**sizes, qkv_bias=True),
        "qwen3": Model(**sizes, head_dim=64, qk_norm=True),
    }
    cases = [
        {
            "name": name,
            "config": {
                "model_type": name,
                "num_hidden_layers": model.layers,
                "hidden_size": model.hidden,
                "num_attention_heads": model.heads,
                "num_key_value_heads": model.groups,
                "head_dim": model.head_size,
                "intermediate_size": model.ffn,
                "vocab_size": model.vocab,
                "tie_word_embeddings": model.tied,
            },
            "rank": 4,
            "targets": "all-linear",
        }
        for name, model in models.items()
    ]
    for answer in probe(PACKAGES, "adapters_probe", cases, tmp_path):
        model, adapters = models[answer["name"]], Adapters(rank=4)
        tuned = ledger(model, "lora", adapters)
        assert tuned.frozen_bytes == answer["bytes"]
        assert tuned.trained_parameters == answer["trained"]
        assert tuned.trained_bytes == answer["trained_bytes"]
        packed = ledger(model, "qlora", adapters)
        assert packed.quantized_bytes == answer["nf4_bytes"]
        assert packed.frozen_bytes == answer["kept_bytes"]
