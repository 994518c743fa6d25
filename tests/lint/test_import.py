"""`parc import`: launch files -> a job, with what they leave open to be filled in."""

from __future__ import annotations

from pathlib import Path

import pytest

import parc
from parc.__main__ import main
from parc.backends import BACKENDS, LAUNCHERS
from parc.backends.launch_files import read_jobs
from parc.lint.unexpressed import lines, unexpressed
from tests.support.compiled_examples import EXAMPLES, compiled
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


LOST = """torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 2 \\
    --num-layers 4 --hidden-size 512 --num-attention-heads 8 --seq-length 1024 --micro-batch-size 1 \\
    --global-batch-size 64 --train-iters 100 --bf16 \\
    --reset-position-ids --moe-input-jitter-eps 0.01
"""


def test_what_the_language_cannot_say_is_listed(capsys: Captured) -> None:
    """On stderr and in the job, which is sound all the same."""
    Path("run.sh").write_text(f"export NCCL_ALGO=Ring\n{LOST}")
    lines = ["run.sh:1  NCCL_ALGO Ring", "run.sh:5  --reset-position-ids"]
    lines.append("run.sh:5  --moe-input-jitter-eps 0.01")
    assert main(["import", "run.sh", "--cluster", "std.dgx_h100", "-o", "job.par"]) == 0
    said = capsys.readouterr().err.splitlines()
    assert [text for text in said if "not in the job" in text] == [
        f"not in the job: {x}" for x in lines
    ]
    text = Path("job.par").read_text()
    assert [line[4:] for line in text.splitlines() if line.startswith("#   ")] == lines


def test_strict_writes_nothing_that_loses_a_setting(capsys: Captured) -> None:
    Path("run.sh").write_text(LOST)
    assert main(["import", "run.sh", "-o", "job.par", "--strict"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("error[PAR080]: 2 settings of the files would be lost")
    assert "note: run.sh:4  --reset-position-ids" in said and not Path("job.par").exists()
    Path("run.sh").write_text(LOST.replace("--reset-position-ids --moe-input-jitter-eps 0.01", ""))
    assert main(["import", "run.sh", "-o", "job.par", "--strict"]) == 0
    assert Path("job.par").exists()


@pytest.mark.parametrize("path", ["tiny/config.json", "tiny"])
def test_a_hugging_face_model_becomes_a_job(path: str, capsys: Captured) -> None:
    Path("tiny").mkdir()
    Path("tiny/config.json").write_text('{"model_type": "gpt_neox", "num_hidden_layers": 4}')
    assert main(["import", path, "-o", "job.par"]) == 0
    said = capsys.readouterr().err
    assert "not in the files: cluster\n" in said and "not in the job: " in said
    assert main(["check", "job.par"]) == 0
    model = parc.load("job.par").model
    assert (model.name, model.layers, model.hidden) == ("tiny", 4, 6144)


def test_the_cluster_of_a_hugging_face_model_is_given(capsys: Captured) -> None:
    Path("config.json").write_text('{"model_type": "llama"}')
    assert main(["import", "config.json", "--cluster", "std.h100_pod"]) == 0
    captured = capsys.readouterr()
    assert "cluster pod from std.h100_pod {" in captured.out
    assert "cluster" not in captured.err and "not in the files: train" in captured.err


def test_strict_refuses_a_model_that_a_job_cannot_say(capsys: Captured) -> None:
    Path("config.json").write_text('{"model_type": "llama", "shiny": 1}')
    assert main(["import", "config.json", "-o", "job.par", "--strict"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("error[PAR080]: 1 setting of the files would be lost")
    assert "shiny = 1 (line 1)" in said and not Path("job.par").exists()


def test_other_json_starts_no_training(capsys: Captured) -> None:
    Path("other.json").write_text('{"a": 1}')
    assert main(["import", "other.json"]) == 2
    assert "these files start no training" in capsys.readouterr().err


#: Layers of a stage, which the solver places.
PLACEMENT = {
    "--account-for-embedding-in-pipeline-split", "--account-for-loss-in-pipeline-split",
    "--decoder-first-pipeline-num-layers", "--decoder-last-pipeline-num-layers",
    "--pipeline-model-parallel-layout",
}  # fmt: skip


#: Has a variable before its value, which the image of a pod may set.
OF_IMAGES = {"--data-path", "--save", "--tokenizer-model"}


@pytest.mark.parametrize("example", EXAMPLES)
def test_nothing_that_parc_emits_is_lost(example: str) -> None:
    for plan in compiled(example).plans:
        files = {**BACKENDS[plan.target].emit(plan)}
        if plan.job.launch is not None:
            files |= LAUNCHERS[plan.job.launch.kind].emit(plan, BACKENDS[plan.target].entry)
        (config,) = read_jobs(files)
        lost = {line.split("  ")[1].split()[0] for line in lines(unexpressed(config))}
        of_images = OF_IMAGES if config.kind.scheduler == "kubernetes" else set()
        assert lost <= PLACEMENT | of_images, (example, plan.target)
