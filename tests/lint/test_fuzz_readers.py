"""Whatever launch files hold, reading, judging, printing, mending and importing them ends with an answer.

`make fuzz` runs fifty times as many inputs as `make test`.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parc.lint.facts.launched_job import LaunchedJob
from parc.lint.fix import fixes
from parc.lint.formats import FORMATS
from parc.lint.formats.facts import facts_text
from parc.lint.imported import imported
from parc.lint.judging import LintOptions
from parc.lint.run import lint_texts
from tests.support.hostile_texts import LINES, PIECES
from tests.support.paths import ROOT

#: Inputs of each kind of file.
INPUTS = int(os.environ.get("PARC_FUZZ_INPUTS", "500"))
#: Seconds that no input may take.
MOST_SECONDS = 5.0
HUGE = (
    "9" * 30, "9" * 5_000, "-1", "0", "1e999", "0x" + "f" * 400, "²", "\udcff", "\ud800", "\\ud800",
    "[" * 200, "{" * 200, "(" * 200, "a." * 200, "${" * 100, "$((", "$(", "<<EOF\n", "true", "null", "nan",
)  # fmt: skip
HEAD = "torchrun --nproc-per-node 8 --nnodes 2 "
SEEDS = {
    "train.sh": [path.read_text() for path in sorted((ROOT / "tests/cases/bash").glob("*.sh"))]
    + [
        HEAD
        + "pretrain_gpt.py --num-layers 8 --hidden-size 64 --seq-length 64 --global-batch-size 8\n"
    ]
    + [
        "#!/bin/bash\n#SBATCH --nodes=2 --time=1:00:00 --signal=B:USR1@60\nsrun torchrun train.py\n"
    ],
    "ds_config.json": [
        '{"train_batch_size": 64, "zero_optimization": {"stage": 2, "offload_param": {"device": "cpu"}},\n'
        ' "bf16": {"enabled": true}, "scheduler": {"params": {"warmup_num_steps": 10}}}\n'
    ],
    "train.toml": [
        '[model]\nname = "llama3"\nflavor = "8B"\n[training]\nlocal_batch_size = 8\nseq_len = 8192\n'
        "[parallelism]\ntensor_parallel_degree = 2\npipeline_parallel_degree = 2\n"
    ],
    "config_registry.py": [
        "def train():\n    config = llama3_8b()\n    config.training.seq_len = 8192\n"
        "    return Trainer.Config(training=TrainingConfig(local_batch_size=2, steps=10))\n"
    ],
}
COMMANDS = {
    "train.sh": "",
    "ds_config.json": HEAD + "train.py --deepspeed --deepspeed_config ds_config.json\n",
    "train.toml": HEAD + "-m torchtitan.train --job.config_file train.toml\n",
    "config_registry.py": HEAD + "-m torchtitan.train --module config_registry --config train\n",
}


@st.composite
def mutated(draw: st.DrawFn, seeds: list[str]) -> str:
    """A text, some stretches of it replaced by what means something to a reader, or by its own parts."""
    text = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(1, 5))):
        start = draw(st.integers(0, len(text)))
        stop = draw(st.integers(start, min(len(text), start + 20)))
        own = text[draw(st.integers(0, len(text))) :][:40]
        piece = draw(st.sampled_from((*PIECES, *LINES, *HUGE, own, "")))
        text = text[:start] + piece + text[stop:]
    return text


@pytest.mark.parametrize("name", SEEDS)
def test_any_text_gets_an_answer(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.iterdir())

    @settings(
        max_examples=INPUTS,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(mutated(SEEDS[name]))
    def answered(text: str) -> None:
        started = time.process_time()
        texts = {name: text.encode(errors="replace").decode()}
        if COMMANDS[name]:
            texts["run.sh"] = COMMANDS[name]
        judged = lint_texts(texts, LintOptions(), {})
        printed = [FORMATS[each](judged) for each in FORMATS] + [facts_text(judged)]
        assert all(isinstance(each, str) for each in printed)
        assert all(fixed.after != fixed.before for fixed in fixes(judged))
        for job in (LaunchedJob(each.config) for each in judged if each.config.facts):
            assert imported(job, None).text.strip()
        assert time.process_time() - started < MOST_SECONDS

    answered()
    assert set(tmp_path.iterdir()) == before
