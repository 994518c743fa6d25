"""No green on nothing: a file without a launch is refused, and the last line says what was judged."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

import parc
from parc.dsl.diagnostics import JobError
from tests.support.linted import BAD, GOOD, Captured, lint
from tests.support.paths import ROOT

FORMATS = ("text", "concise", "json", "github", "sarif", "junit")
AXOLOTL = """base_model: meta-llama/Llama-3.1-8B
datasets: [{path: tatsu-lab/alpaca, type: alpaca}]
sequence_len: 4096
micro_batch_size: 2
gradient_accumulation_steps: 4
learning_rate: 2e-5
"""
NOTEBOOK = '{"cells": [{"cell_type": "code", "source": ["!torchrun train.py"]}]}'
ALONE = "is no configuration that parc reads alone"
PROGRAM = "is a program, without a configuration that parc reads"
#: Name, text, why it holds no launch, and a part of what reads it.
OTHERS = (
    ("job.par", "model { layers = }", "is a job, no launch file", "`parc check job.par`"),
    ("job", "# mine\nmodel m from std.llama3_8b {}\n", "is a job, no launch file", "`parc check`"),
    (
        "config.json",
        '{"model_type": "x"}',
        "is the config of a model",
        "parc init --hf config.json",
    ),
    ("plan.json", '{"plans": [], "files": {}}', "is a plan that parc wrote", "`parc lint .`"),
    ("empty.sh", "", "is empty", "parc lint reads scripts"),
    ("blank.yaml", "\n\n", "is empty", "parc lint reads scripts"),
    ("other.json", '{"name": "web"}', ALONE, "parc lint train.sh other.json"),
    ("foo.yaml", "foo: bar\n", ALONE, "parc lint train.sh foo.yaml"),
    ("verl.yaml", "trainer: {nnodes: 1}\n", ALONE, "parc lint train.sh verl.yaml"),
    ("foo.toml", "key = 1\n", ALONE, "parc lint train.sh foo.toml"),
    ("half.yaml", "foo: [\n", "is no YAML", "correct it"),
    ("Dockerfile", "FROM x\nRUN pip install torch\n", "is the recipe of an image", "the script"),
    ("Makefile", "train:\n\techo hello\n", "is a makefile", "the script"),
    ("Jenkinsfile", "pipeline { stages { } }\n", "is a pipeline of Jenkins", "parc lint reads"),
    ("cells.ipynb", NOTEBOOK, "is a notebook", "jupyter nbconvert --to script cells.ipynb"),
    ("plain.py", "print(1)\n", PROGRAM, "the script"),
    ("broken.py", "def (:\n", PROGRAM, "the script"),
    ("echo.sh", "echo hello\n", "starts no training", "parc lint reads scripts"),
    ("loop.sh", "for i in; do\n", "starts no training", "parc lint reads scripts"),
    ("setup.sh", "pip install deepspeed\n", "starts no training", "parc lint reads scripts"),
    ("notes.txt", "some words\n", "starts no training", "parc lint reads scripts"),
)


def test_a_file_without_a_launch_is_refused_with_what_reads_it(capsys: Captured) -> None:
    for name, text, why, cure in OTHERS:
        Path(name).write_text(text)
        assert lint(name) == 2, name
        printed = capsys.readouterr()
        message, _, help_text = printed.err.partition("\n  = help: ")
        assert f"nothing here that parc lint reads: `{name}` {why}" in message and not printed.out
        assert cure in help_text, name


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_refuses_what_it_has_not_read(form: str, capsys: Captured) -> None:
    Path("foo.yaml").write_text("foo: bar\n")
    assert lint("foo.yaml", "--format", form) == 2
    assert "nothing here" in capsys.readouterr().err
    with pytest.raises(JobError, match="nothing here that parc lint reads"):
        parc.lint("foo.yaml")


def test_a_folder_without_a_launch_names_the_job_in_it(capsys: Captured) -> None:
    Path("jobs").mkdir()
    assert lint("jobs") == 2
    assert "no launch file in `jobs`" in capsys.readouterr().err
    Path("jobs/mine.par").write_text("model { layers = }")
    assert lint("jobs") == 2
    assert "= help: `parc check jobs/mine.par`" in capsys.readouterr().err


def test_among_others_it_is_named_and_what_is_read_is_judged(capsys: Captured) -> None:
    Path("foo.yaml").write_text("foo: bar\n")
    Path("vain").mkdir()
    assert lint("good.sh", "foo.yaml", "vain") == 0
    assert capsys.readouterr().out.rstrip().endswith("; nothing to lint in foo.yaml, vain")
    assert lint("bad.sh", "foo.yaml", "--format", "json") == 1
    printed = json.loads(capsys.readouterr().out)
    (other,) = printed["without_launch"]
    assert other["path"] == "foo.yaml" and other["why"] and other["help"]
    assert [file["path"] for file in printed["files"]] == ["bad.sh"]
    assert lint("good.sh", "foo.yaml", "--format", "sarif") == 0
    notes = json.loads(capsys.readouterr().out)["runs"][0]["invocations"][0]
    assert any(
        "foo.yaml" in note["message"]["text"] for note in notes["toolExecutionNotifications"]
    )


def test_a_file_that_a_job_reads_is_no_stranger(capsys: Captured) -> None:
    Path("env.sh").write_text("export LAYERS=32\n")
    Path("train.py").write_text("print(1)\n")
    Path("run.sh").write_text("source ./env.sh\ntorchrun --nproc-per-node 8 train.py\n")
    assert lint("run.sh", "env.sh", "train.py") == 0
    assert "nothing to lint" not in capsys.readouterr().out


def test_a_script_with_directives_alone_is_read(capsys: Captured) -> None:
    Path("job.sbatch").write_text("#!/bin/bash\n#SBATCH --nodes=2\nbash other.sh\n")
    assert lint("job.sbatch") == 0
    assert "1 job, 1 of 1 fact known" in capsys.readouterr().out


def test_a_broken_config_of_deepspeed_stays_an_error(capsys: Captured) -> None:
    Path("ds.json").write_text('{"zero_optimization": {"stage": 2}')
    assert lint("ds.json") == 1
    Path("slip.json").write_text('{"zero_optimisation": {"stage": 2}}')
    assert lint("slip.json", "--fail-on", "warning") in (0, 1)
    assert "1 job" in capsys.readouterr().out


def test_a_broken_yaml_of_a_trainer_is_an_error(capsys: Captured) -> None:
    Path("axolotl.yaml").write_text(AXOLOTL + "special_tokens: [\n")
    Path("accelerate.yaml").write_text("distributed_type: MULTI_GPU\nnum_processes: [\n")
    for name in ("axolotl.yaml", "accelerate.yaml"):
        assert lint(name, "--format", "concise") == 1
        assert f"{name}:" in (out := capsys.readouterr().out) and "error PAR807" in out


def test_the_last_line_names_the_main_facts_that_are_not_there(capsys: Captured) -> None:
    Path("axolotl.yaml").write_text(AXOLOTL)
    assert lint("axolotl.yaml") == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.endswith("3 of 3 facts known; not stated: gpus, global_batch, precision")


def unjudged(capsys: Captured, form: str, *arguments: str) -> str:
    """What a format says of memory that was not judged."""
    lint(*arguments, "--format", form)
    printed = capsys.readouterr().out
    if form == "json":
        (file,) = json.loads(printed)["files"]
        (told,) = (each for each in file["not_judged"] if each["what"] == "memory")
        return f"memory not judged: {told['why']}"
    if form == "sarif":
        (invocation,) = (run["invocations"][0] for run in json.loads(printed)["runs"])
        return "\n".join(
            note["message"]["text"]
            for note in invocation["toolExecutionNotifications"]
            if note["level"] == "warning"
        )
    return (
        ElementTree.fromstring(printed).findtext("system-out") or "" if form == "junit" else printed
    )


@pytest.mark.parametrize("form", FORMATS)
def test_memory_that_was_asked_for_and_not_judged_is_said(form: str, capsys: Captured) -> None:
    cluster = ("--cluster", "std.dgx_h200")
    Path("good.sh").write_text(GOOD)
    Path("axolotl.yaml").write_text(AXOLOTL)
    why = "memory not judged: the model's vocabulary is unknown"
    assert why in unjudged(capsys, form, "good.sh", *cluster)
    why = "memory not judged: neither DeepSpeed nor FSDP shards it"
    assert why in unjudged(capsys, form, "axolotl.yaml", *cluster)
    why = "memory not judged: no framework that parc prices is named"
    example = str(ROOT / "examples" / "gpt_125m.par")
    assert why in unjudged(capsys, form, "axolotl.yaml", "--spec", example)


def test_nothing_is_said_of_memory_that_nobody_asked_for(capsys: Captured) -> None:
    Path("good.sh").write_text(GOOD)
    for arguments in ([], ["--cluster", "std.dgx_h200", "--ignore", "PAR511"]):
        lint("good.sh", *arguments)
        assert "memory" not in capsys.readouterr().out


def test_of_many_jobs_the_reasons_are_counted(capsys: Captured) -> None:
    for name, text in (("a.sh", GOOD), ("b.sh", BAD), ("c.yaml", AXOLOTL)):
        Path(name).write_text(text)
    lint("a.sh", "b.sh", "c.yaml", "--cluster", "std.dgx_h200")
    last = capsys.readouterr().out.splitlines()[-1]
    assert "memory not judged: the model's vocabulary is unknown (2), neither DeepSpeed nor" in last
