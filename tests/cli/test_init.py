"""`parc init` as somebody calls it: a job that compiles, never over another file, what it lacks named."""

from __future__ import annotations

import csv
import io
import json
import re
import struct
from pathlib import Path
from typing import Any

import pytest

import parc
from parc.api import plan_targets
from parc.backends import LAUNCHERS as BACKEND_LAUNCHERS
from parc.commands.init import LAUNCHERS
from parc.dsl.diagnostics import Source
from parc.dsl.formatting.canonical import formatted
from parc.dsl.formatting.layout import WIDTH
from parc.new_job.models import hugging_face_choice
from parc.new_job.questions import Terminal
from parc.new_job.write import first_job
from parc.reading.huggingface.config_settings import read_model
from tests.support.command_line import Parc
from tests.support.paths import ROOT

CASES = ROOT / "tests" / "cases" / "huggingface"
TINY = {
    "model_type": "llama",
    "num_hidden_layers": 2,
    "hidden_size": 256,
    "num_attention_heads": 4,
    "intermediate_size": 512,
    "vocab_size": 1024,
    "torch_dtype": "bfloat16",
}
#: 2 x 1024 x 256 + 2 (4 x 256 x 256 + 3 x 256 x 512 + 2 x 256) + 256
PARAMETERS = 1_836_288


def folder(name: str = "tiny", **more: Any) -> Path:
    Path(name).mkdir()
    Path(name, "config.json").write_text(json.dumps(TINY | more))
    return Path(name)


@pytest.mark.parametrize("command", [("init", "--gpus", "8xH100", "--hf"), ("import",)])
def test_a_key_that_is_named_says_nothing_to_a_terminal(
    command: tuple[str, ...], run: Parc
) -> None:
    hostile: dict[str, Any] = {"\x1b[31m\nnot in the files": 1}
    folder(**hostile)
    ran = run(*command, "tiny", "-o", "new.par")
    assert ran.code == 0 and "not in the job: \N{REPLACEMENT CHARACTER}[31m" in ran.err
    assert all(line.isprintable() for line in ran.err.split("\n"))


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_job_is_begun_for_each_launcher(launcher: str, run: Parc) -> None:
    folder()
    ran = run("init", "--hf", "tiny", "--gpus", "16xH100", "--launch", launcher, "-o", "new.par")
    assert ran.code == 0, ran.err
    job = parc.load("new.par")
    assert job.launch is not None and job.launch.kind == launcher
    assert list(BACKEND_LAUNCHERS[launcher].warnings(plan_targets(job).plans[0])) == []


def test_every_launcher_can_be_asked_for(run: Parc) -> None:
    assert tuple(BACKEND_LAUNCHERS) == LAUNCHERS
    ran = run("init", "--launch", "nomad")
    assert ran.code == 2 and "nomad" in ran.err


def test_one_command_from_a_config_to_a_plan(run: Parc) -> None:
    folder()
    ran = run("init", "--hf", "tiny", "--gpus", "8xH100", "-o", "new.par", "--plan")
    assert ran.code == 0, ran.err
    assert f"new.par: tiny, {PARAMETERS:,} parameters\n" in ran.out
    assert "MFU" in ran.out and "  run  " in ran.out


@pytest.mark.parametrize("path", sorted(CASES.glob("*.json")), ids=lambda path: path.stem)
def test_a_job_of_every_family_has_a_target_that_trains_it(path: Path, tmp_path: Path) -> None:
    job, text = first_job(hugging_face_choice(str(path)), None, None)
    assert job.targets.names
    (tmp_path / "new.par").write_text(text)
    assert parc.load(tmp_path / "new.par").model.name == path.stem
    joined = re.sub(r"\n#\s+", " ", text)
    assert all(str(each) in joined for each in job.model.unsaid)
    assert formatted(Source("new.par", text)) == text
    assert max(len(line) for line in text.splitlines() if line.startswith("#")) <= WIDTH


def smallest_of_each_family() -> dict[str, Path]:
    """A config.json by the word of its `model_type`."""
    counts = csv.DictReader((CASES / "parameters.csv").open())
    order = sorted(counts, key=lambda row: int(row["transformers"]), reverse=True)
    paths = [CASES / f"{row['model']}.json" for row in order]
    return {read_model(path.name, path.read_text()).family: path for path in paths}


@pytest.mark.parametrize("path", smallest_of_each_family().values(), ids=lambda path: path.stem)
def test_every_family_is_one_command_from_its_config_to_a_plan(run: Parc, path: Path) -> None:
    ran = run("init", "--hf", str(path), "-o", "new.par", "--plan")
    assert ran.code == 0, ran.err
    assert f"new.par: {path.stem}, " in ran.out and "  run  " in ran.out
    assert re.search(r"\b\d+(\.\d+)?% MFU|MFU +\d", ran.out), ran.out


def test_the_file_is_new_or_forced(run: Parc) -> None:
    before = Path("job.par").read_text()
    ran = run("init", "--model", "llama3_8b")
    assert ran.code == 2 and "PAR091" in ran.err and "--force" in ran.err
    assert Path("job.par").read_text() == before
    assert run("init", "--model", "llama3_8b", "--force").code == 0
    assert parc.load("job.par").model.layers == 32


def test_gpus_and_targets_are_those_that_are_asked_for(run: Parc) -> None:
    asked_for = ("--gpus", "16xA100-40GB", "--target", "deepspeed", "-o", "new.par", "--json")
    ran = run("init", "--model", "std.llama3_8b", *asked_for)
    found = json.loads(ran.out)
    assert found["targets"] == ["deepspeed"] and found["refused"] == {}
    assert found["cluster"]["name"] == "std.dgx_a100" and found["cluster"]["gpu"] == "std.a100_40"
    job = parc.load("new.par")
    assert (job.cluster.gpu.name, job.cluster.nodes, job.cluster.gpus_per_node) == (
        "a100_40",
        (2,),
        8,
    )
    assert [target.name for target in job.targets] == ["deepspeed"]


def test_enough_gpus_are_assumed(run: Parc) -> None:
    ran = run("init", "--model", "llama3_405b", "-o", "new.par")
    assert "assumed: --gpus says others" in ran.out
    cluster = parc.load("new.par").cluster
    states = 18 * 405_853_388_800
    assert states / 2 < cluster.nodes[0] * 8 * cluster.gpu.memory / 2 >= states


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), "PAR164", "--model with a name, for example Qwen/Qwen3-8B"),
        (("--hf", "missing"), "PAR164", "cannot read `missing`: no such file"),
        (("--hf", "."), "PAR164", "cannot read `config.json`: no such file"),
        (("--model", "llama3_8"), "PAR094", "did you mean `llama3_8b`?"),
        (("--model", "llama3_8b", "--gpus", "12xH100"), "PAR168", "`8xH100` or `16xH100`"),
        (("--model", "llama3_8b", "--gpus", "8xh10"), "PAR168", "no GPU of the standard library"),
        (("--model", "llama3_8b", "--gpus", "8"), "PAR168", "`8xH100`"),
        (("--model", "llama3_8b", "--gpus", "0xH100"), "PAR168", "`8xH100`"),
        (("--model", "llama3_8b", "--target", "megatrn"), "PAR092", "did you mean `megatron`?"),
    ],
)
def test_what_cannot_be_is_told_and_nothing_is_written(
    run: Parc, arguments: tuple[str, ...], code: str, said: str
) -> None:
    ran = run("init", *arguments, "-o", "new.par")
    assert ran.code == 2 and f"error[{code}]" in ran.err and said in ran.err
    assert not Path("new.par").exists()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"hidden_size": 250}, "heads"),
        ({"vocab_size": 10**9}, "vocab"),
        ({"model_type": "mixtral", "num_experts_per_tok": 99}, "topk"),
    ],
)
def test_a_model_that_cannot_be_is_refused_by_its_file(
    run: Parc, more: dict[str, Any], said: str
) -> None:
    folder(**more)
    ran = run("init", "--hf", "tiny", "-o", "new.par")
    assert ran.code == 2 and "error[PAR166]" in ran.err and said in ran.err
    assert "config.json`" in ran.err and "help: " in ran.err and not Path("new.par").exists()


def test_learned_positions_bound_the_sequence(run: Parc) -> None:
    assert run("init", "--model", "gpt_125m", "-o", "new.par").code == 0
    assert parc.load("new.par").train.seq_len == 2048


def test_a_model_that_no_target_trains_whole_lacks_settings_by_name(run: Parc) -> None:
    path = CASES / "gemma_2_2b.json"
    assert run("init", "--hf", str(path), "-o", "new.par").code == 0
    text = Path("new.par").read_text()
    assert "  # attention_softcap = 50\n" in text and "\n  logit_softcap" in text
    assert "  # Left out, since PyTorch's fused attention has no cap on scores" in text
    assert run("check", "new.par").code == 0


def test_the_count_is_compared_with_an_index(run: Parc) -> None:
    place = folder()
    index = {"metadata": {"total_size": 2 * PARAMETERS}, "weight_map": {"a": "b"}}
    (place / "model.safetensors.index.json").write_text(json.dumps(index))
    ran = run("init", "--hf", "tiny", "-o", "new.par", "--json")
    assert json.loads(ran.out)["model"]["stored"] == PARAMETERS and not ran.err
    text = Path("new.par").read_text()
    assert ", as many as model.safetensors.index.json holds\n" in text
    assert '  # weights = "tiny"' in text


def test_another_count_is_a_warning(run: Parc) -> None:
    place = folder()
    index = {"metadata": {"total_parameters": 2_000_000}, "weight_map": {}}
    (place / "model.safetensors.index.json").write_text(json.dumps(index))
    ran = run("init", "--hf", "tiny", "-o", "new.par")
    assert ran.code == 0 and "warning[PAR167]" in ran.err
    assert "`model.safetensors.index.json` holds 2,000,000: +8.9%" in ran.err


def test_the_header_of_a_single_file_counts_a_shared_table_once(run: Parc) -> None:
    place = folder(tie_word_embeddings=True)
    table = 1024 * 256
    header = {
        "__metadata__": {"format": "pt"},
        "lm_head.weight": {"dtype": "BF16", "shape": [1024, 256], "data_offsets": [0, 0]},
        "rest": {"dtype": "BF16", "shape": [PARAMETERS - table], "data_offsets": [0, 0]},
    }
    data = json.dumps(header).encode()
    (place / "model.safetensors").write_bytes(struct.pack("<Q", len(data)) + data)
    ran = run("init", "--hf", "tiny", "-o", "new.par", "--json")
    assert json.loads(ran.out)["model"]["stored"] == PARAMETERS - table
    assert not ran.err


def test_tables_that_multi_token_prediction_shares_count_once(run: Parc) -> None:
    """An index like GLM-4.5-Air's: its own parameters, those of a 47th layer, both tables again."""
    Path("air").mkdir()
    Path("air/config.json").write_text((CASES / "glm_4_5_air.json").read_text())
    names = [f"model.layers.46.{name}.weight" for name in ("embed_tokens", "shared_head.head")]
    stored = 106_852_245_504 + 2_375_059_456 + 2 * 151_552 * 4096
    index = {"metadata": {"total_parameters": stored}, "weight_map": dict.fromkeys(names, "a")}
    Path("air/model.safetensors.index.json").write_text(json.dumps(index))
    ran = run("init", "--hf", "air", "-o", "new.par", "--json")
    found = json.loads(ran.out)["model"]
    assert found["parameters"] == 106_852_245_504 and "PAR167" not in ran.err


@pytest.mark.parametrize("text", ["{", "[]", '{"metadata": 1, "weight_map": {}}', "\0"])
def test_an_index_that_cannot_be_read_is_no_fault(run: Parc, text: str) -> None:
    (folder() / "model.safetensors.index.json").write_text(text)
    ran = run("init", "--hf", "tiny", "-o", "new.par")
    assert ran.code == 0 and "safetensors" not in Path("new.par").read_text()


def test_a_terminal_is_asked(run: Parc, monkeypatch: pytest.MonkeyPatch) -> None:
    questions = io.StringIO()
    terminal = Terminal(io.StringIO("llama3_8b\n16xH200\n"), questions)
    monkeypatch.setattr(Terminal, "present", lambda: terminal)
    assert run("init", "-o", "new.par").code == 0
    assert "Qwen/Qwen3-8B" in questions.getvalue() and "64xH100" in questions.getvalue()
    job = parc.load("new.par")
    assert job.model.layers == 32 and job.cluster.gpu.name == "h200" and job.cluster.nodes == (2,)


def test_a_terminal_is_asked_again(run: Parc, monkeypatch: pytest.MonkeyPatch) -> None:
    questions = io.StringIO()
    terminal = Terminal(io.StringIO("lama3_8b\nllama3_8b\n12xH100\nH100\n"), questions)
    monkeypatch.setattr(Terminal, "present", lambda: terminal)
    ran = run("init", "-o", "new.par")
    assert ran.code == 0 and "did you mean `llama3_8b`?" in ran.err and "or `16xH100`" in ran.err
    assert questions.getvalue().count("Model") == 2 == questions.getvalue().count("GPUs, for")
    assert parc.load("new.par").cluster.gpus_per_node == 1


def test_a_terminal_that_ends_is_not_asked_again(
    run: Parc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Terminal, "present", lambda: Terminal(io.StringIO("x9"), io.StringIO()))
    ran = run("init", "-o", "new.par")
    assert ran.code == 2 and "no model is called" in ran.err


def test_a_bare_number_asks_for_the_type(run: Parc, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal(io.StringIO("H200\n"), io.StringIO())
    monkeypatch.setattr(Terminal, "present", lambda: terminal)
    assert run("init", "--model", "llama3_8b", "--gpus", "16", "-o", "new.par").code == 0
    assert parc.load("new.par").cluster.gpu.name == "h200"
