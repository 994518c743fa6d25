"""`parc import`: launch files -> a job, with what they leave open to be filled in."""

from __future__ import annotations

import parc
from parc.__main__ import main
from tests.support.linted import Captured
from tests.support.paths import ROOT


def test_import_writes_a_job_that_checks(capsys: Captured) -> None:
    golden = ROOT / "tests" / "golden" / "llama3_8b"
    files = [str(golden / "megatron" / "pretrain.sh"), str(golden / "slurm" / "megatron.sbatch")]
    assert main(["import", *files, "--cluster", "std.h100_pod", "-o", "job.par"]) == 0
    assert main(["check", "job.par"]) == 0
    job, example = parc.load("job.par"), parc.load(ROOT / "examples" / "llama3_8b.par")
    same = ("layers", "hidden", "heads", "kv_heads", "ffn", "gated", "norm", "rope_theta", "tied")
    assert all(getattr(job.model, name) == getattr(example.model, name) for name in same)
    assert job.train.global_batch == example.train.global_batch
    assert main(["import", *files, "-o", "job.par"]) == 2
    assert main(["import", "missing.sh"]) == 2
    capsys.readouterr()


def test_import_leaves_what_is_unknown_to_be_filled_in(capsys: Captured) -> None:
    assert main(["import", "good.sh"]) == 0
    printed = capsys.readouterr()
    assert "  # vocab = ..." in printed.out and "not in the files: model.vocab" in printed.err
