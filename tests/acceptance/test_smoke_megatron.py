"""`parc smoke` trains Megatron-LM on CPUs through the emitted pretrain.sh, where MEGATRON_ROOT is set.

pretrain_gpt.py is in no package, only in Megatron-LM's repository. With a checkout of it:
`MEGATRON_ROOT=~/Megatron-LM make acceptance`.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from environments import TRAINING, environment
from smoking import LIMIT_SECONDS, Smokes, Wanted, check, check_recomputing

TARGET, NAME = "megatron", TRAINING
ROOT = os.environ.get("MEGATRON_ROOT")
pytestmark = pytest.mark.skipif(
    not ROOT, reason="MEGATRON_ROOT is not set, and pretrain_gpt.py is in no package"
)
DENSE = "model decoder from std.llama3_8b { layers = 4 }"
EXPERTS = "model experts from std.mixtral_8x7b { layers = 2 }"
LATENT = "model latent from std.deepseek_v3 { layers = 4; dense_layers = 1; mtp_layers = 0 }"
#: One that does not compress its query.
LITE = LATENT.replace("mtp_layers = 0", "mtp_layers = 0; q_lora_rank = 0")
CASES = {
    "zero_1": Wanted("zero == 1, tp == 1, pp == 1, cp == 1", 2, {"dp_shard": 2, "zero": 1}, DENSE),
    "zero_2": Wanted("zero == 2, tp == 1, cp == 1", 2, {"dp_shard": 2, "zero": 2}, DENSE),
    "zero_3": Wanted("zero == 3, tp == 1, cp == 1", 2, {"dp_shard": 2, "zero": 3}, DENSE),
    "tensor_pipeline": Wanted("tp == 2, pp == 2, vpp == 1", 4, {"tp": 2, "pp": 2}, DENSE),
    "interleaved": Wanted(
        "tp == 1, pp == 2, vpp == 2, recompute == full", 2, {"pp": 2, "vpp": 2}, DENSE
    ),
    "uneven": Wanted(
        "tp == 1, pp == 2, recompute == selective",
        2,
        {"pp": 2},
        "model odd from std.llama3_8b { layers = 5; vocab = 50257 }",
    ),
    "context": Wanted("cp == 8, tp == 1, pp == 1", 2, {"cp": 2}, DENSE),
    "experts": Wanted("ep == 8, etp == 1, tp == 1", 2, {"ep": 2, "etp": 1}, EXPERTS, nodes=2),
    "experts_tensor": Wanted(
        "ep == 4, etp == 2, tp == 2, pp == 1", 4, {"ep": 2, "etp": 2, "tp": 2}, EXPERTS, nodes=2
    ),
    "latent": Wanted("tp == 2, pp == 2", 4, {"tp": 2, "pp": 2}, LATENT, nodes=16),
    "latent_lite": Wanted("tp == 2, pp == 1", 2, {"tp": 2}, LITE, nodes=16),
}


@pytest.mark.parametrize("case", CASES)
def test_layouts_train(case: str, smokes: Smokes, request: pytest.FixtureRequest) -> None:
    check(smokes[request.node.nodeid], CASES[case])


def test_recomputing_changes_no_loss(smokes: Smokes) -> None:
    layout = "tp == 2, pp == 1, cp == 1, micro_batch == 1"
    check_recomputing(smokes, TARGET, NAME, layout, DENSE)


def test_a_checkpoint_is_written_and_the_run_goes_on_from_it(
    smokes: Smokes, tmp_path: Path
) -> None:
    """The emitted script is started again with more steps, as after a requeue."""
    keep = tmp_path / "kept"
    more = ("--keep", str(keep), "--steps", "4")
    run = smokes.begin("kept", TARGET, CASES["zero_1"], NAME, *more).result()
    assert run["good"], run["log"]
    kept = keep / "megatron"
    checkpoints = kept / "work" / "checkpoints"
    assert (checkpoints / "latest_checkpointed_iteration.txt").read_text() == "4"
    done = subprocess.run(
        ["bash", str(kept / "megatron" / "pretrain.sh"), "--train-iters", "6"],
        env=_variables(kept),
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert (checkpoints / "latest_checkpointed_iteration.txt").read_text() == "6"
    assert "iteration        5/" in done.stdout and "iteration        4/" not in done.stdout


def _variables(kept: Path) -> dict[str, str]:
    import parc.smoke
    from parc.smoke.processes import free_port

    on_cpu = Path(parc.smoke.__file__).with_name("on_cpu")
    made = environment(NAME).variables(
        PYTHONPATH=str(on_cpu),
        PARC_SMOKE_CAPABILITY="90",
        TORCHDYNAMO_DISABLE="1",
        MASTER_PORT=str(free_port()),
        CUDA_VISIBLE_DEVICES="",
    )
    return made | {"PATH": os.pathsep.join([str(kept / "commands"), made["PATH"]])}
