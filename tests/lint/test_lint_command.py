"""`parc lint` and `parc import` as people call them: formats, exit codes, comments, configuration, cures."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import parc
from parc.__main__ import main
from tests.support.paths import ROOT

BAD = """#!/bin/bash
torchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 8 \\
    --pipeline-model-parallel-size 16 --num-layers 32 --hidden-size 4096 --num-attention-heads 32
"""
GOOD = """#!/bin/bash
torchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 8 \\
    --num-layers 32 --hidden-size 4096 --num-attention-heads 32
"""
Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.sh").write_text(BAD)
    Path("good.sh").write_text(GOOD)


def lint(*arguments: str) -> int:
    return main(["lint", *arguments])


def findings(capsys: Captured, *arguments: str) -> list[dict[str, object]]:
    lint(*arguments, "--format", "json")
    printed: dict[str, list[dict[str, object]]] = json.loads(capsys.readouterr().out)
    return printed["findings"]


def codes(capsys: Captured, *arguments: str) -> set[object]:
    return {found["code"] for found in findings(capsys, *arguments)}


def test_exit_codes(capsys: Captured) -> None:
    assert lint("good.sh") == 0
    assert lint("bad.sh") == 1
    assert lint("bad.sh", "--fail-on", "never") == 0
    Path("tp.sh").write_text(GOOD.replace("--tensor-model-parallel-size 8", "--sequence-parallel"))
    assert lint("tp.sh") == 0
    assert lint("tp.sh", "--fail-on", "info") == 1
    capsys.readouterr()


def test_the_message_has_numbers_places_and_help(capsys: Captured) -> None:
    (found,) = (each for each in findings(capsys, "bad.sh") if each["code"] == "PAR101")
    assert found["message"] == "tp 8 * pp 16 * cp 1 = 128 does not divide 8 GPUs"
    assert (found["path"], found["line"], found["column"]) == ("bad.sh", 2, 19)
    assert found["name"] == "world-size" and found["severity"] == "error" and found["help"]
    related = found["related"]
    assert isinstance(related, list)
    assert [(each["message"], each["line"]) for each in related][:2] == [("tp 8", 2), ("pp 16", 3)]


def test_json_has_files_with_facts(capsys: Captured) -> None:
    Path("open.sh").write_text(GOOD.replace("--nnodes 1", '--nnodes "$NODES"'))
    lint("open.sh", "--format", "json")
    (file,) = json.loads(capsys.readouterr().out)["files"]
    assert file["path"] == "open.sh" and file["kind"] == "megatron-bash"
    assert file["facts"]["tp"] == {"value": 8, "line": 2}
    assert set(file["facts"]["nodes"]) == {"unknown", "line"}


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


def test_select_and_ignore(capsys: Captured) -> None:
    assert codes(capsys, "bad.sh", "--select", "PAR121") == set()
    assert codes(capsys, "bad.sh", "--select", "PAR1") == {"PAR101"}
    assert "PAR101" not in codes(capsys, "bad.sh", "--ignore", "world-size")
    assert lint("bad.sh", "--select", "PAR999") == 2
    assert "there is no rule `PAR999`" in capsys.readouterr().err


def test_comments_suppress_and_idle_ones_are_told(capsys: Captured) -> None:
    ignored = "# parc: ignore[PAR101] the site has more nodes\n"
    Path("above.sh").write_text(BAD.replace("torchrun", f"set -e\n{ignored}torchrun", 1))
    assert "PAR101" not in codes(capsys, "above.sh")
    Path("head.sh").write_text(BAD.replace("torchrun", f"{ignored}set -e\ntorchrun", 1))
    assert "PAR101" not in codes(capsys, "head.sh")
    Path("idle.sh").write_text(GOOD.replace("torchrun", f"set -e\n{ignored}torchrun", 1))
    (found,) = findings(capsys, "idle.sh", "--select", "PAR9,PAR1")
    assert (found["code"], found["line"]) == ("PAR902", 3)


def test_configuration(capsys: Captured) -> None:
    Path("pyproject.toml").write_text('[tool.parc.per-file-ignores]\n"b*.sh" = ["PAR1"]\n')
    assert not codes(capsys, "bad.sh") & {"PAR101"}
    Path("parc.toml").write_text('fail-on = "info"\nignore = ["PAR101"]\n')
    assert "PAR101" not in codes(capsys, "bad.sh")
    Path("parc.toml").write_text("ignored = []\n")
    assert lint("bad.sh") == 2
    assert "did you mean `ignore`?" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["text", "concise", "json", "github", "sarif", "junit"])
def test_formats(form: str, capsys: Captured) -> None:
    assert lint("bad.sh", "good.sh", "--format", form) == 1
    printed = capsys.readouterr().out
    assert "PAR101" in printed and "bad.sh" in printed


def test_formats_for_machines_are_well_formed(capsys: Captured) -> None:
    lint("bad.sh", "--format", "github")
    assert capsys.readouterr().out.startswith(
        "::error file=bad.sh,line=2,col=19,title=PAR101 world-size::"
    )
    lint("bad.sh", "good.sh", "--format", "junit")
    suite = ElementTree.fromstring(capsys.readouterr().out)
    assert suite.attrib["tests"] == "2" and suite.attrib["failures"] == "1"
    lint("bad.sh", "--format", "sarif")
    log = json.loads(capsys.readouterr().out)
    (run,) = log["runs"]
    assert log["version"] == "2.1.0"
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        region = result["locations"][0]["physicalLocation"]["region"]
        assert region["startLine"] >= 1 and region["endColumn"] > region["startColumn"]


CURES = {
    "renamed.sh": ("--use-custom-fsdp", "--use-megatron-fsdp --ckpt-format fsdp_dtensor"),
    "typo.sh": ("--num-layer 32", "--num-layers 32"),
}


def test_fix_changes_only_what_is_wrong(capsys: Captured) -> None:
    text = GOOD.replace("--num-layers 32", "--num-layer 32").replace("\n", "\r\n")
    Path("typo.sh").write_bytes(b"\xef\xbb\xbf" + text.encode())
    Path("typo.sh").chmod(0o750)
    assert lint("typo.sh", "--fix", "--diff") == 1
    assert "+    --num-layers 32" in capsys.readouterr().out
    assert b"--num-layer 32" in Path("typo.sh").read_bytes()
    assert lint("typo.sh", "--fix") == 0
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


def test_explain(capsys: Captured) -> None:
    assert lint("--explain", "PAR101") == 0
    printed = capsys.readouterr().out
    assert printed == (ROOT / "docs" / "rules" / "PAR101.md").read_text()
    assert lint("--explain", "world-size") == 0
    assert capsys.readouterr().out == printed
    assert lint("--explain", "world-sise") == 2
    assert "did you mean `world-size`?" in capsys.readouterr().err


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
        "print('LOADED', [n for n in ('ortools', 'black', 'rich', 'jinja2') if n in sys.modules])"
    )
    assert run_alone(code).strip().endswith("LOADED []")
    assert "ortools" not in run_alone("import parc.lint, sys; print(list(sys.modules))")


def test_a_spec_says_where_files_drift(capsys: Captured) -> None:
    example, golden = ROOT / "examples" / "gpt_125m.par", ROOT / "tests" / "golden" / "gpt_125m"
    text = (golden / "megatron" / "pretrain.sh").read_text()
    Path("drift.sh").write_text(text.replace("--num-layers 12", "--num-layers 10"))
    found = findings(capsys, "drift.sh", "--spec", str(example))
    (drift,) = (each for each in found if each["code"] == "PAR161")
    assert drift["message"] == "layers 10, and the job says 12"
    related = drift["related"]
    assert isinstance(related, list) and related[0]["path"].endswith(".par")


def test_a_cluster_tells_the_memory(capsys: Captured) -> None:
    golden = ROOT / "tests" / "golden" / "llama3_70b" / "megatron" / "pretrain.sh"
    text = golden.read_text().partition("\n")[2].partition("\n")[2]
    changed = text.replace("--use-distributed-optimizer ", "--bf16 ").replace(
        "--tensor-model-parallel-size 4", "--tensor-model-parallel-size 1"
    )
    layout = next(
        line for line in changed.split("\n") if "--pipeline-model-parallel-layout" in line
    )
    Path("fat.sh").write_text(
        changed.replace(layout + "\n", "").replace("    --sequence-parallel ", "    --bf16 ")
    )
    (found,) = (
        each
        for each in findings(capsys, "fat.sh", "--cluster", "std.h100_pod")
        if each["code"] == "PAR511"
    )
    assert "GiB on the fullest GPU" in str(found["message"]) and "fits" in str(found["help"])


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
