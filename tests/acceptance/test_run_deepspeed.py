"""One emitted run with all that a job may ask of DeepSpeed trains alike on two replicas and in two stages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.acceptance.support.deepspeed_runs import trained

STEPS = 12
JOB = """
model odd {{
  layers = 4; hidden = 64; heads = 4; kv_heads = 2; head_dim = 16; ffn = 96; vocab = 256
  window = 16; full_attention_every = 2; attention_sinks = true; bias = true; parallel_block = true
  rope_scaling = yarn; rope_factor = 32; rope_original_positions = 16; rope_truncate = false
  activation = quick_gelu; glu_clamp = 7; glu_offset = 1; logit_softcap = 30
}}
cluster pair from std.dgx_h100 {{ nodes = 1; gpus_per_node = 2; cpu_cores = 2 }}
train {{
  seq_len = 64; global_batch = 8; steps = {steps}; schedule = wsd; warmup = 1; learning_rate = 1e-3
  ramp_from = 4; ramp_tokens = 1024
  keep_checkpoints = 2; checkpoint_interval = 2; collective_timeout = 5 min
}}
goal {{ require zero == 1; require {ways}; require cp == 1; require micro_batch == 1 }}
target deepspeed {{
  adam = "torch"; log_interval = 1; eval_interval = 5; eval_iters = 2
  data = {{ "{folder}/a b.bin" = 0.7; "{folder}/it's.bin" = 0.3 }}; valid_data = "{folder}/held.bin"
  profile_start = 3; profile_stop = 4
}}
"""


def both(ways: str, folder: Path) -> tuple[list[float], list[str]]:
    """Losses by step and by evaluation of a run in a new folder."""
    folder.mkdir()
    for factor, name in enumerate(("a b", "it's", "held"), 1):
        ids = (number * number * factor % 251 for number in range(64 * 40 + 1))
        (folder / f"{name}.bin").write_bytes(b"".join(each.to_bytes(2, "little") for each in ids))
    text = JOB.format(steps=STEPS, ways=ways, folder=folder)
    log, losses = trained(text, folder, SAVE=str(folder / "saved"), PROFILE=str(folder / "profile"))
    return losses, re.findall(r"^(?:\[\w+\]:)?(validation after .*)", log, re.MULTILINE)


def test_all_settings_train_alike_in_both_ways(tmp_path: Path) -> None:
    found = {way: both(f"{way} == 2", tmp_path / way) for way in ("dp", "pp")}
    losses, evaluated = found["dp"]
    assert len(losses) == STEPS and losses[-1] < losses[0]
    assert found["pp"][0] == pytest.approx(losses, abs=5e-3)
    assert [line.split(" |")[0] for line in evaluated] == [
        f"validation after step {step}" for step in (5, 10, STEPS)
    ]
    for way in found:
        kept = sorted(path.name for path in (tmp_path / way / "saved").glob("step*"))
        assert kept == ["step10", "step12"]
        assert list((tmp_path / way / "profile").iterdir())
