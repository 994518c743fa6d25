"""Which files of a folder are launch files: by what they hold, and by what git and the settings leave out."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from parc.lint.discovery import looks_like_launch
from tests.support.linted import BAD, Captured, codes, findings, lint

LAUNCH = {
    "run.sh": "torchrun --nproc-per-node 8 train.py\n",
    "slurm": "#!/bin/bash\n#SBATCH -N 4\nsrun bash inner.sh\n",
    "pbs.pbs": "#PBS -l select=4\nmpiexec -n 16 python pretrain_gpt.py\n",
    "mpi.sh": "mpirun -np 16 python3 -u pretrain_gpt.py --num-layers 2\n",
    "srun.sh": 'srun --label python3.11 "$HERE/finetune_llama.py" --lr 1e-4\n',
    "module.sh": "python -m fastchat.train.train_mem --bf16 True\n",
    "mega.sh": "NPROC_PER_NODE=8 \\\nmegatron sft \\\n    --tensor_model_parallel_size 2\n",
    "args.sh": "deepspeed ${deepspeed_args} \\\n  examples/finetune.py\n",
    "sft.sh": "CUDA_VISIBLE_DEVICES=0,1 swift sft --model x\n",
    "zero.json": '{"fp16": {"enabled": true}, "zero_optimization": {"stage": 2}}',
    "plain.json": '{"train_batch_size": 8, "fp16": {"enabled": true}}',
    "broken.json": '{\n  "zero_optimization": {"stage": 2},,\n}',
    "acc.yaml": "distributed_type: DEEPSPEED\nnum_machines: 1\nnum_processes: 8\n",
    "titan.toml": "[model]\nname = 'llama3'\n[training]\nsteps = 5\n",
}
OTHERS = {
    "clean.sh": "#!/bin/bash\nrm -rf train_logs\npython plot.py --title 'how we train'\n",
    "download.sh": "wget https://example.org/train.jsonl\npython preprocess_data.py --input train.jsonl\n",
    "results.json": '{"acc": 0.5, "config": {"zero_optimization": {"stage": 2}, "batch_size": 8}}',
    "trainer_state.json": '{"train_batch_size": 8, "global_step": 10, "log_history": [], "epoch": 1.0}',
    "hf.json": '{"hidden_size": 4096, "train_batch_size": 8}',
    "list.json": '["zero_optimization"]',
    "project.toml": "[project]\nname = 'x'\n[build-system]\n[tool.black]\n[training]\nx = 1\n",
    "values.yaml": "image: x\nargs: [torchrun, train.py]\ndistributed_type_of: x\n",
    "note.txt": "torchrun train.py\n",
}


@pytest.mark.parametrize("name", LAUNCH)
def test_what_starts_or_configures_training_is_found(name: str) -> None:
    assert looks_like_launch(name, LAUNCH[name])


@pytest.mark.parametrize("name", [name for name in OTHERS if not name.endswith(".txt")])
def test_what_only_has_the_words_is_not(name: str) -> None:
    assert not looks_like_launch(name, OTHERS[name])


def judged(capsys: Captured, *words: str) -> set[str]:
    """The files that a run judges."""
    lint(*words, "--format", "json")
    return {each["path"] for each in json.loads(capsys.readouterr().out)["files"]}


def tree(files: dict[str, str]) -> None:
    Path("bad.sh").unlink()
    Path("good.sh").unlink()
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)


def test_a_folder_has_each_file_once_by_its_plain_path(capsys: Captured) -> None:
    tree({**OTHERS, "run.sh": "deepspeed --num_gpus 8 train.py --deepspeed zero.json\n"})
    Path("zero.json").write_text(
        '{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 7}}'
    )
    assert len(findings(capsys, ".", "--select", "PAR416")) == 1
    assert judged(capsys, ".") == {"run.sh"}
    assert judged(capsys, ".", "run.sh", "./zero.json") == {"run.sh"}


def test_git_and_settings_leave_files_out(capsys: Captured) -> None:
    launch = "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 2\n"
    names = ["a.sh", "b.sh", "out/c.sh", "out/keep.sh", "deep/out/d.sh", "deep/e.sh", "third/f.sh"]
    tree(dict.fromkeys(names, launch))
    Path(".git").mkdir()
    Path(".gitignore").write_text("b.sh\nout/*\n!out/keep.sh\n")
    assert judged(capsys, ".") == {
        "a.sh",
        "out/keep.sh",
        "deep/out/d.sh",
        "deep/e.sh",
        "third/f.sh",
    }
    Path("deep/.gitignore").write_text("/out\n!b.sh\n")
    Path("deep/b.sh").write_text(launch)
    expected = {"a.sh", "out/keep.sh", "deep/e.sh", "deep/b.sh", "third/f.sh"}
    assert judged(capsys, ".") == expected
    assert judged(capsys, "deep") == {"deep/e.sh", "deep/b.sh"}
    Path("parc.toml").write_text('exclude = ["third", "a.*"]\n')
    assert judged(capsys, ".") == expected - {"third/f.sh", "a.sh"}
    assert judged(capsys, ".", "--exclude", "deep/") == expected - {"deep/e.sh", "deep/b.sh"}


def commit(*names: str) -> None:
    """The files of a new repository that git tracks, also those that .gitignore names."""
    subprocess.run(["git", "init", "--quiet"], check=True)
    subprocess.run(["git", "add", "--force", "--", *names], check=True)


@pytest.mark.parametrize("version", ["2", "4"])
def test_what_git_tracks_is_read_whatever_is_ignored(version: str, capsys: Captured) -> None:
    launch = "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 2\n"
    names = ["kept.sh", "lost.sh", "out/deep/kept.sh", "out/lost.sh", "none/lost.sh", "a.sh"]
    tree(dict.fromkeys(names, launch))
    Path(".gitignore").write_text("kept.sh\nlost.sh\n/out\n/none\n")
    commit("kept.sh", "out/deep/kept.sh", ".gitignore")
    subprocess.run(["git", "update-index", "--index-version", version], check=True)
    assert judged(capsys, ".") == {"a.sh", "kept.sh", "out/deep/kept.sh"}
    assert judged(capsys, "out") == {"out/deep/kept.sh"}
    Path("parc.toml").write_text('exclude = ["out"]\n')
    assert judged(capsys, ".") == {"a.sh", "kept.sh"}
    Path(".git/index").write_bytes(Path(".git/index").read_bytes()[:70])
    assert judged(capsys, ".") == {"a.sh"}


def test_a_submodule_has_its_index_elsewhere(capsys: Captured) -> None:
    Path("part").mkdir()
    tree({"part/job.sh": "torchrun --nproc-per-node 8 train.py\n", "part/.gitignore": "*.sh\n"})
    Path(".git/modules").mkdir(parents=True)
    subprocess.run(["git", "init", "--quiet", "made"], check=True)
    Path("made/.git").rename(".git/modules/part")
    Path("part/.git").write_text("gitdir: ../.git/modules/part\n")
    subprocess.run(["git", "-C", "part", "add", "--force", "job.sh"], check=True)
    assert judged(capsys, ".") == {"part/job.sh"}


def test_a_pipeline_of_jenkins_is_no_shell_script(capsys: Captured) -> None:
    text = 'pipeline { agent any\n  stages { sh "torchrun --nproc-per-node 8 train.py" } }\n'
    tree({"Jenkinsfile": text, "ci": f"#!/usr/bin/env groovy\n{text}", "run": text})
    assert judged(capsys, ".") == {"run"}
    assert lint("Jenkinsfile") == 2
    assert "`Jenkinsfile` is a pipeline of Jenkins" in capsys.readouterr().err


def test_a_named_file_is_judged_whatever_leaves_it_out(capsys: Captured) -> None:
    Path("parc.toml").write_text('exclude = ["*.sh"]\n')
    assert "PAR101" in codes(capsys, "bad.sh")
    assert judged(capsys, "bad.sh", "--skip-others") == set()


def test_standard_input(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    def typed(text: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    typed(BAD)
    found = findings(capsys, "-", "--select", "PAR101")
    assert {each["path"] for each in found} == {"stdin.sh"}
    typed('{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 7}}')
    found = findings(capsys, "-", "--stdin-filename", "ds.json", "--select", "PAR416")
    assert [each["path"] for each in found] == ["ds.json"]
    typed("a\0b")
    assert lint("-") == 2 and "standard input is not a launch file" in capsys.readouterr().err
