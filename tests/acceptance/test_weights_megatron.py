"""Megatron-LM trains from a checkpoint of transformers through the emitted files: its first loss is theirs.

Every sequence of the data is the same, so that no order of them changes a loss. Needs a checkout of
Megatron-LM, as test_smoke_megatron.py does.
"""

from __future__ import annotations

import os
import re
import struct
import subprocess
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from parc.backends import BACKENDS
from parc.backends.megatron.on_cpu import CAPABILITY
from parc.backends.megatron.options import Options
from parc.backends.megatron.smoke import SMOKE, UINT16
from parc.compiler.plan import Layout
from parc.dsl.settings import Data
from parc.smoke.processes import free_port
from parc.smoke.smoke_run import on_cpu
from tests.acceptance.support.environments import TRAINING, environment
from tests.acceptance.support.hugging_face import FAMILIES, SEQUENCE, references, tiny
from tests.acceptance.support.recorded_launches import write
from tests.acceptance.test_forward_megatron import VALUES
from tests.support.sample_plans import sample_plan, train_of

ROOT = os.environ.get("MEGATRON_ROOT")
pytestmark = pytest.mark.skipif(
    not ROOT, reason="MEGATRON_ROOT is not set, and pretrain_gpt.py is in no package"
)
STEPS, TEXTS = 20, 400
#: Vocabulary that Megatron-LM does not pad for two tensor ranks: rows of padding take part in its softmax.
CHANGES = {name: {"vocab": 256, **VALUES.get(name, {})} for name in FAMILIES}
#: Of a loss about 6, in bf16 beside fp32.
LOSS = 0.03


@dataclass(frozen=True)
class Case:
    family: str
    layout: Layout
    gpus: int


CASES = {
    "tensor_pipeline": Case("llama3_1_8b", Layout(tp=2, pp=2, microbatches=4), 4),
    "interleaved_tied": Case("qwen3_0_6b", Layout(pp=2, vpp=2, microbatches=4), 2),
    "experts": Case("qwen3_30b_a3b", Layout(ep=2, dp_shard=2, zero=1, microbatches=2), 2),
    "latent": Case("deepseek_v3", Layout(tp=2, ep=2, microbatches=2), 2),
    "sinks": Case("gpt_oss_20b", Layout(tp=2, ep=2, microbatches=2), 2),
}


def write_data(prefix: Path, tokens: list[int]) -> None:
    """The same text again and again, as Megatron-LM's indexed_dataset.py reads it."""
    size = len(tokens)
    prefix.with_suffix(".bin").write_bytes(array("H", tokens * TEXTS).tobytes())
    begins = array("q", range(0, 2 * size * TEXTS, 2 * size))
    head = struct.pack("<9sQBQQ", b"MMIDIDX\0\0", 1, UINT16, TEXTS, TEXTS + 1)
    arrays = (array("i", [size] * TEXTS), begins, array("q", range(TEXTS + 1)))
    prefix.with_suffix(".idx").write_bytes(head + b"".join(each.tobytes() for each in arrays))


def emitted(case: Case, folder: Path, reference: Path) -> Path:
    options = Options(
        path=str(ROOT),
        data=Data(parts=((str(folder / "texts"), 1.0),)),
        split="1,0,0",
        checkpoints=str(folder / "checkpoints"),
        log_interval=1,
        eval_iters=0,
    )
    batch = case.layout.micro_batch * case.layout.microbatches * case.layout.dp
    train = train_of(
        seq_len=SEQUENCE,
        global_batch=batch,
        steps=STEPS,
        warmup=1,
        learning_rate=1e-3,
        checkpoint_interval=STEPS,
        weights=str(reference / "checkpoint"),
    )
    plan = sample_plan(
        "megatron",
        options,
        model=tiny(case.family, **CHANGES[case.family]),
        train=train,
        layout=case.layout,
        gpus_per_node=case.gpus,
    )
    return write(BACKENDS["megatron"].emit(plan), folder) / "megatron" / "pretrain.sh"


def trained(script: Path, folder: Path) -> str:
    made = environment(TRAINING)
    variables = made.variables(**on_cpu(SMOKE), CUDA_VISIBLE_DEVICES="")
    variables |= {CAPABILITY: "90", "MASTER_PORT": str(free_port()), "TMPDIR": str(folder)}
    done = subprocess.run(
        ["bash", str(script)],
        cwd=folder,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout[-6000:]
    return done.stdout


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    families = sorted({case.family for case in CASES.values()})
    return references(families, tmp_path_factory.mktemp("transformers"), CHANGES, repeats=True)


@pytest.mark.parametrize("name", CASES)
def test_training_begins_with_the_loss_of_the_weights(
    name: str, expected: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    case = CASES[name]
    reference = Path(expected[case.family]["folder"])
    tokens = (reference / "tokens.txt").read_text().split()
    write_data(tmp_path / "texts", [int(token) for token in tokens])
    log = trained(emitted(case, tmp_path, reference), tmp_path)
    found = re.findall(SMOKE.step, log)
    assert [int(step) for step, _ in found] == list(range(1, STEPS + 1)), log[-4000:]
    losses = [float(loss) for _, loss in found]
    assert losses[0] == pytest.approx(expected[case.family]["loss"], abs=LOSS)
    assert losses[-1] < losses[0] - 1
