"""`parc lint` as people call it: exit codes, files and folders, wrong input, and what it never does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import parc
from tests.support.linted import BAD, GOOD, Captured, codes, findings, lint
from tests.support.paths import ROOT


def test_exit_codes(capsys: Captured) -> None:
    assert lint("good.sh") == 0
    assert lint("bad.sh") == 1
    assert lint("bad.sh", "--fail-on", "never") == 0
    Path("tp.sh").write_text(GOOD.replace("--tensor-model-parallel-size 8", "--sequence-parallel"))
    assert lint("tp.sh") == 0
    assert lint("tp.sh", "--fail-on", "info") == 1
    capsys.readouterr()


def test_unknown_is_no_fault_unless_asked(capsys: Captured) -> None:
    Path("open.sh").write_text(GOOD.replace("--nnodes 1", '--nnodes "$NODES"'))
    assert lint("open.sh") == 0
    assert "not judged without" in capsys.readouterr().out
    assert lint("open.sh", "--require-complete") == 1
    assert "error[PAR901]: nodes is unknown" in capsys.readouterr().out
    assert lint("open.sh", "--require-complete", "--env", "NODES=1") == 0
    capsys.readouterr()


def test_arguments_of_the_script(capsys: Captured) -> None:
    Path("args.sh").write_text(
        BAD.replace("--tensor-model-parallel-size 8", "--tensor-model-parallel-size $1")
    )
    assert "PAR101" not in codes(capsys, "args.sh")
    lint("args.sh", "--format", "json", "--", "4")
    assert json.loads(capsys.readouterr().out)["files"][0]["facts"]["tp"]["value"] == 4


def test_folders_are_searched_by_content(capsys: Captured) -> None:
    Path("deep/er").mkdir(parents=True)
    Path("deep/er/launch").write_text(BAD)
    Path("deep/notes.sh").write_text("echo hello\n")
    Path("deep/data.json").write_text('{"a": 1}')
    lint("deep", "--format", "json")
    files = json.loads(capsys.readouterr().out)["files"]
    assert [file["path"] for file in files] == [os.path.join("deep", "er", "launch")]


def test_other_files_are_skipped_on_request(capsys: Captured) -> None:
    Path("package.json").write_text('{"name": "web", "optimizer": {}}')
    assert lint("package.json", "--skip-others") == 0
    assert lint("package.json", "bad.sh", "--skip-others") == 1
    assert "1 job" in capsys.readouterr().out


def test_several_files_are_one_job(capsys: Captured) -> None:
    Path("ds.json").write_text('{"train_batch_size": 1028, "train_micro_batch_size_per_gpu": 4}')
    Path("run.sh").write_text("torchrun --nproc-per-node 8 train.py --deepspeed_config ds.json\n")
    (found,) = findings(capsys, "run.sh", "ds.json", "--select", "PAR205")
    assert found["path"] == "ds.json" and "1028" in str(found["message"])
    related = found["related"]
    assert isinstance(related, list) and {each["path"] for each in related} == {"ds.json", "run.sh"}


BROKEN = [
    (["missing.sh"], "there is no file `missing.sh`"),
    (["empty"], "no launch file in `empty`"),
    (["binary.sh"], "`binary.sh` is binary: a zero byte in line 2"),
    (["large.sh"], "at most"),
    ([], "no launch file is named"),
    (["bad.sh", "--cluster", "std.h10_pod"], "did you mean `h100_pod`?"),
    (["bad.sh", "--spec", "missing.par"], "there is no file `missing.par`"),
]


@pytest.mark.parametrize(("arguments", "message"), BROKEN)
def test_bad_input(arguments: list[str], message: str, capsys: Captured) -> None:
    Path("empty").mkdir()
    Path("binary.sh").write_bytes(b"torchrun\n\0\n")
    with Path("large.sh").open("wb") as stream:
        stream.truncate(50 * 2**20)
    assert lint(*arguments) == 2
    assert message in capsys.readouterr().err


def test_what_is_no_utf8_is_read(capsys: Captured) -> None:
    Path("latin.sh").write_bytes(
        BAD.replace("torchrun", "# caf\xe9\ntorchrun", 1).encode("latin-1")
    )
    assert "PAR101" in codes(capsys, "latin.sh")


def test_a_program_that_does_not_parse_is_no_trouble(capsys: Captured) -> None:
    for path in (ROOT / "tests" / "golden" / "llama3_8b" / "deepspeed").iterdir():
        Path(path.name).write_text(path.read_text())
    Path("train.py").write_text("def (:\n")
    assert lint("launch.sh", "ds_config.json", "model.json", "train.py") == 0
    capsys.readouterr()


@pytest.mark.parametrize("option", ["--framework-version", "--env", "--format", "--fail-on"])
def test_wrong_usage(option: str, capsys: Captured) -> None:
    with pytest.raises(SystemExit) as ended:
        lint("bad.sh", option, "nothing")
    assert ended.value.code == 2
    capsys.readouterr()


def test_nothing_is_run_written_or_removed(capsys: Captured) -> None:
    Path("effects.sh").write_text(
        "touch made\nrm -f good.sh\necho x > bad.sh\nX=$(touch made2)\n: `touch made3`\n"
        'eval "touch made4"\nbash -c "touch made5"\nsource <(touch made6)\n' + BAD
    )
    before = {path: path.read_bytes() for path in Path().iterdir()}
    lint("effects.sh")
    assert {path: path.read_bytes() for path in Path().iterdir()} == before
    capsys.readouterr()


def test_python(capsys: Captured) -> None:
    found = parc.lint(["bad.sh"])
    assert "PAR101" in {diagnostic.code for diagnostic in found}
    assert all(diagnostic.span for diagnostic in found)


def run_alone(code: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return result.stdout


def test_ortools_is_not_loaded() -> None:
    code = (
        "import sys; from parc.__main__ import main; main(['lint', 'bad.sh', '--fail-on', 'never']); "
        "print('LOADED', [n for n in ('ortools', 'numpy', 'black', 'rich', 'jinja2') if n in sys.modules])"
    )
    assert run_alone(code).strip().endswith("LOADED []")
    assert "ortools" not in run_alone("import parc.lint, sys; print(list(sys.modules))")


def test_a_spec_says_where_files_drift(capsys: Captured) -> None:
    example, golden = ROOT / "examples" / "gpt_125m.par", ROOT / "tests" / "golden" / "gpt_125m"
    text = (golden / "megatron" / "pretrain.sh").read_text()
    Path("drift.sh").write_text(text.replace("--num-layers 12", "--num-layers 10"))
    found = findings(capsys, "drift.sh", "--spec", str(example))
    (drift,) = (each for each in found if each["code"] == "PAR161")
    assert drift["message"] == "layers 10, and the job has 12"
    related = drift["related"]
    assert isinstance(related, list) and related[0]["path"].endswith(".par")


def test_a_cluster_tells_the_memory(capsys: Captured) -> None:
    golden = ROOT / "tests" / "golden" / "llama3_70b" / "megatron" / "pretrain.sh"
    text = golden.read_text().partition("\n")[2].partition("\n")[2]
    for before, after in {
        "--use-distributed-optimizer ": "--bf16 ",
        "--tensor-model-parallel-size 4": "--tensor-model-parallel-size 1",
        "    --sequence-parallel ": "    --bf16 ",
        "    --tp-comm-overlap ": "    --bf16 ",
    }.items():
        assert before in text
        text = text.replace(before, after)
    Path("fat.sh").write_text(text)
    (found,) = (
        each
        for each in findings(capsys, "fat.sh", "--cluster", "std.h100_pod")
        if each["code"] == "PAR511"
    )
    assert "GiB on the fullest GPU" in str(found["message"]) and "fits" in str(found["help"])
