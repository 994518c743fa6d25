"""`parc lint --fix` changes what is wrong and nothing else."""

from __future__ import annotations

import stat
from pathlib import Path

from tests.support.linted import GOOD, Captured, lint


def test_fix_changes_only_what_is_wrong(capsys: Captured) -> None:
    text = GOOD.replace("--num-layers 32", "--num-layer 32").replace("\n", "\r\n")
    Path("typo.sh").write_bytes(b"\xef\xbb\xbf" + text.encode())
    Path("typo.sh").chmod(0o750)
    given = ("typo.sh", "--fix", "--ignore", "PAR805", "--fail-on", "warning")
    assert lint(*given, "--diff") == 1
    assert "+    --num-layers 32" in capsys.readouterr().out
    assert b"--num-layer 32" in Path("typo.sh").read_bytes()
    assert lint(*given) == 0
    cured = text.replace("--num-layer 32", "--num-layers 32")
    assert Path("typo.sh").read_bytes() == b"\xef\xbb\xbf" + cured.encode()
    assert stat.S_IMODE(Path("typo.sh").stat().st_mode) == 0o750
    capsys.readouterr()


def test_fix_takes_quotes_away_and_moves_directives(capsys: Captured) -> None:
    Path("ds.json").write_text('{"train_batch_size": "8", "bf16": {"enabled": "true"}}\n')
    Path("job.sbatch").write_text(
        "#!/bin/bash\n#SBATCH --time=01:00:00\nset -e\n#SBATCH --nodes=2\nsrun hostname\n"
    )
    lint("ds.json", "job.sbatch", "--fix")
    capsys.readouterr()
    assert Path("ds.json").read_text() == '{"train_batch_size": 8, "bf16": {"enabled": true}}\n'
    assert Path("job.sbatch").read_text() == (
        "#!/bin/bash\n#SBATCH --time=01:00:00\n#SBATCH --nodes=2\nset -e\nsrun hostname\n"
    )


def test_values_that_need_an_unknown_fact_are_not_advised(capsys: Captured) -> None:
    """Whether copies of 2 kv_heads leave even shares for 4 ranks depends on a width that nothing says."""
    Path("train.sh").write_text(
        "torchrun --nproc-per-node 7 pretrain_gpt.py --tensor-model-parallel-size 7 "
        "--num-layers 28 --hidden-size $HIDDEN --num-attention-heads 28 "
        "--group-query-attention --num-query-groups 2\n"
    )
    assert lint("train.sh", "--select", "PAR112", "--own-levels") == 1
    assert "help: tp in {1, 2}" in capsys.readouterr().out
