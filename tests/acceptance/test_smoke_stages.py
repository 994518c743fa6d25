"""`parc smoke` of a job in stages: the second begins at the loss that the first reached."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.acceptance.support.environments import environment
from tests.acceptance.support.smoke_runs import LIMIT_SECONDS

JOB = """
model tiny { layers = 2; hidden = 256; heads = 8; ffn = 512; vocab = 32000 }
cluster one from std.dgx_h100 { nodes = 1; gpus_per_node = 1 }
train { seq_len = 1024; global_batch = 64; learning_rate = 3e-4 }
stage main { steps = 100 }
stage long { steps = 10; seq_len = 4096; global_batch = 16 }
target torchtitan { data = synthetic }
"""


def test_a_stage_begins_where_the_one_before_ended(tmp_path: Path) -> None:
    job = tmp_path / "staged.par"
    job.write_text(JOB)
    command = [sys.executable, "-m", "parc", "smoke", str(job), "--json", "--cpu", "--procs", "1"]
    command += ["--python", str(environment("torchtitan-0.2.2").python), "--steps", "12"]
    done = subprocess.run([*command, "--limit", str(LIMIT_SECONDS)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    main, long = json.loads(done.stdout)["runs"]
    assert (main["stage"], long["stage"]) == ("main", "long")
    assert (
        abs(long["losses"][0] - main["losses"][-1]) < (main["losses"][0] - main["losses"][-1]) / 2
    )
