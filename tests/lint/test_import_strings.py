"""Whatever text stands in launch files, `parc import` says it whole in the job, or lists it as lost."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

import parc
from parc.__main__ import main
from parc.backends import BACKENDS
from parc.dsl import loads
from parc.dsl.syntax.quoting import quoted
from tests.support.hostile_texts import LINES, PIECES, text_of
from tests.support.linted import Captured

OPTIONS = {name: backend.target.options for name, backend in BACKENDS.items()}
CLUSTER = ["--cluster", "std.dgx_h100", "-o", "job.par"]
SHAPE = """--num-layers 4 --hidden-size 512 --num-attention-heads 8 --seq-length 1024 --vocab-size 32000 \\
    --max-position-embeddings 1024 --micro-batch-size 1 --global-batch-size 64 --train-iters 100 --bf16"""
#: Pieces that sbatch's own reading of a directive leaves as they are.
DIRECTIVE = tuple(piece for piece in PIECES if not set(piece) & set(" #'\"`\\"))


@pytest.mark.parametrize("seed", range(30))
def test_options_of_a_script(seed: int, capsys: Captured) -> None:
    text = text_of(seed, PIECES + LINES)
    script = f"torchrun --nproc-per-node 8 pretrain_gpt.py {SHAPE} --save {shlex.quote(text)}\n"
    Path("run.sh").write_text(script, newline="")
    assert main(["import", "run.sh", *CLUSTER]) == 0, capsys.readouterr()
    options = parc.load("job.par").options("megatron")
    assert options.checkpoints == text


@pytest.mark.parametrize("seed", range(30))
def test_options_that_are_lost_stay_comments(seed: int, capsys: Captured) -> None:
    text = text_of(seed, PIECES + LINES)
    script = (
        f"torchrun --nproc-per-node 8 pretrain_gpt.py {SHAPE} --unheard-of {shlex.quote(text)}\n"
    )
    Path("run.sh").write_text(script, newline="")
    assert main(["import", "run.sh", *CLUSTER]) == 0, capsys.readouterr()
    parc.load("job.par")
    assert "#   run.sh:2  --unheard-of" in Path("job.par").read_text()


@pytest.mark.parametrize("seed", range(20))
def test_directives_of_sbatch(seed: int, capsys: Captured) -> None:
    """Said whole, or listed; never left out without a word."""
    text = text_of(seed, DIRECTIVE)
    start = f"#!/bin/bash\n#SBATCH --account={text}\n#SBATCH --nodes=1\n"
    script = f"{start}torchrun --nproc-per-node 8 pretrain_gpt.py {SHAPE}\n"
    Path("run.sh").write_text(script)
    assert main(["import", "run.sh", *CLUSTER]) == 0, capsys.readouterr()
    job = parc.load("job.par")
    assert job.launch is not None
    if "$" in text:
        assert job.slurm.account is None
        assert "#   run.sh:2  --account " in Path("job.par").read_text()
    else:
        assert job.slurm.account == text


@pytest.mark.parametrize("seed", range(20))
def test_a_quoted_text_is_read_back(seed: int) -> None:
    text = text_of(seed, PIECES + LINES)
    job = loads(
        f"target deepspeed {{\n  data = {quoted(text)}\n}}\n" + MINIMAL, "job.par", targets=OPTIONS
    )
    assert job.options("deepspeed").data.parts == ((text, 1.0),)


MINIMAL = """
model m { layers = 4; hidden = 512; heads = 8; vocab = 32000; ffn = 2048 }
cluster c from std.dgx_h100 { nodes = 1 }
train { seq_len = 1024; global_batch = 64; steps = 100 }
goal { maximize mfu }
"""
