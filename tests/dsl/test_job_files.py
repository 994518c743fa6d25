"""Files: imports, bases, changes from the command line, positions, the standard library."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from parc.dsl import JobError, load, loads, std_cluster, std_entries, std_gpu, std_model
from parc.dsl.diagnostics import Source
from parc.dsl.hardware import Cluster, Gpu
from parc.dsl.library import Library
from parc.dsl.model import Model
from parc.dsl.syntax.parser import parse
from parc.dsl.syntax.tree import Block, Setting, depth
from tests.support.language_jobs import (
    CLUSTER,
    GOAL,
    MODEL,
    TARGET,
    TARGETS,
    TRAIN,
    Options,
    codes,
    job,
)

GIB = 2**30


def test_bases_are_unrolled() -> None:
    text = "gpu lean from big { reserve = 1 GiB }\n"
    text += "gpu big from std.h100_sxm { memory = 96 GiB; fp8 = none }\n"
    found = job(cluster=text + "cluster from std.dgx_h100 { gpu = lean; nodes = 4 }\n").cluster
    assert (found.gpu.name, found.gpu.memory, found.gpu.reserve, found.gpu.fp8) == (
        "lean",
        96 * GIB,
        GIB,
        None,
    )
    assert found.gpu.bf16 == std_gpu("h100_sxm").bf16
    assert found.network == std_cluster("dgx_h100").network


def test_names_of_derived_blocks() -> None:
    assert job(model="model from std.llama3_8b { }\n").model.name == "llama3_8b"
    assert job(model="model mine from std.llama3_8b { }\n").model.name == "mine"
    assert job().model.name == ""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shared" / "deep").mkdir(parents=True)
    return tmp_path


def write(name: str, text: str) -> None:
    Path(name).write_text(text)


def test_imports(folder: Path) -> None:
    write("shared/deep/gpus.par", "let spare = 1\ngpu site from std.h100_sxm { memory = 79 GiB }\n")
    write(
        "shared/pod.par",
        'import "deep/gpus.par"\nlet pods = 2\n'
        "cluster pod from std.dgx_h100 { gpu = site; nodes = pods + spare }\n"
        'launch slurm { account = "llm" }\n',
    )
    text = 'import "shared/pod.par"\nimport "shared/deep/gpus.par"\n' + MODEL + TRAIN + TARGET
    write("job.par", text)
    found = load("job.par", targets=TARGETS)
    assert found.cluster.nodes == (3,) and found.cluster.gpu.memory == 79 * GIB
    assert found.launch is not None and found.slurm.account == "llm"
    assert str(found.span("cluster", "nodes")) == "shared/pod.par:3:45"
    assert load("job.par", targets=TARGETS, overrides=["pods=7"]).cluster.nodes == (8,)
    write("job.par", text + "cluster other from pod { nodes = pods * 10 }\n")
    assert load("job.par", targets=TARGETS).cluster.nodes == (20,)


def test_the_digest_tells_what_a_job_was_made_of(folder: Path) -> None:
    write("pod.par", CLUSTER)
    write("job.par", 'import "pod.par"\n' + MODEL + TRAIN + TARGET)
    first = load("job.par", targets=TARGETS)
    assert load("job.par", targets=TARGETS).digest == first.digest and len(first.digest) == 64
    changed = load("job.par", targets=TARGETS, overrides=["train.seed=1"])
    write("pod.par", CLUSTER + "# another comment\n")
    assert len({first.digest, changed.digest, load("job.par", targets=TARGETS).digest}) == 3


def test_name_and_path(folder: Path) -> None:
    write("shared/my_job.par", MODEL + CLUSTER + TRAIN + TARGET)
    found = load("shared/my_job.par", targets=TARGETS)
    assert (found.name, found.path) == ("my_job", "shared/my_job.par")
    assert load(Path("shared/my_job.par"), targets=TARGETS).name == "my_job"


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends_and_byte_order_mark(folder: Path, end: str) -> None:
    text = "\ufeff# A job\n" + MODEL + CLUSTER + TRAIN + TARGET + GOAL
    text = text.replace("\n", end)
    Path("job.par").write_bytes(text.encode())
    assert load("job.par", targets=TARGETS).goal.constraints[0].text == "memory <= 50%"


def test_changes_from_the_command_line() -> None:
    found = job(
        more='launch slurm { partition = "a" }\nlet pods = 1\ngoal { maximize mfu; require tp <= 8 }\n',
        overrides=[
            "model.layers=2",
            "train.seq_len = 2048",
            "train.optimizer=muon",
            "cluster.nodes={2, 4 * pods}",
            "pods=4",
            "cluster.gpu=std.h200",
            "cluster.gpu.reserve=3GiB",
            "launch.partition=h100=x y",
            "target.alpha.data=/data/c4",
            'target.alpha.lines=["x"]',
            "goal.minimize=cost",
            "goal.require=pp == 1",
            "model.layers=3",
        ],
    )
    assert (found.model.layers, found.train.seq_len, found.train.optimizer) == (3, 2048, "muon")
    assert found.cluster.nodes == (2, 16)
    assert (found.cluster.gpu.name, found.cluster.gpu.reserve) == ("h200", 3 * GIB)
    assert found.launch is not None and found.slurm.partition == "h100=x y"
    assert found.targets[0].options == Options(data="/data/c4", lines=("x",))
    assert [o.quantity for o in found.goal.objectives] == ["cost"]
    assert [c.text for c in found.goal.constraints] == ["tp <= 8", "pp == 1"]
    assert str(found.span("train", "seq_len")) == "--set:2:1"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("train.seq_len", "PAR023"),
        ("=4", "PAR023"),
        ("train.seq_len=", "PAR023"),
        ("a.b.c.d=4", "PAR023"),
        ("train.seq_ln=4", "PAR011"),
        ("podz=4", "PAR011"),
        ("seq_len=4", "PAR011"),
        ("target.gamma.data=x", "PAR011"),
        ("target.beta.data=x", "PAR023"),
        ("launch.time=4 h", "PAR023"),
        ("train.seq_len=4 GB", "PAR013"),
        ("train.seq_len=0", "PAR018"),
        ("train.seq_len=4; seed = 3", "PAR023"),
        ("train.seq_len=4)", "PAR001"),
        ("goal.require=tp = 4", "PAR001"),
        ("goal.require=tp", "PAR025"),
        ("goal.ask=tp", "PAR011"),
        ("train.precision=fp64", "PAR022"),
    ],
)
def test_wrong_changes(change: str, code: str) -> None:
    with pytest.raises(JobError) as error:
        job(overrides=[change])
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.code == code
    assert diagnostic.span is not None and str(diagnostic.span).startswith("--set:1:")


def test_spans_point_into_the_text() -> None:
    found = job(more="launch slurm { time = 4 h }\n")
    spans = {
        ("train", "seq_len"): "seq_len = 1024",
        ("cluster", "nodes"): "nodes = 2",
        ("cluster",): "cluster pod from std.dgx_h100",
        ("train", "seed"): "train",
        ("target", "alpha"): "target alpha",
        ("launch", "time"): "time = 4 h",
    }
    for path, text in spans.items():
        span = found.span(*path)
        assert span is not None and span.text == text
    gpu = found.span("cluster", "gpu", "memory")
    assert gpu is not None and gpu.source.name == "std/gpus.par" and gpu.text.startswith("memory ")


def test_all_errors_at_once() -> None:
    text = (
        MODEL.replace("layers", "layer") + CLUSTER.replace("2", "two") + TRAIN.replace("1G", "3 GB")
    )
    found = codes(loads, text + "target gamma { }\ngoal { require x > 1 }\n", targets=TARGETS)
    assert found == ["PAR011", "PAR011", "PAR013", "PAR011", "PAR011"]


def test_tree_has_spans_and_order() -> None:
    text = "# c\nmodel a from b { x = 1 + 2 * 3 }\n"
    file, complaints = parse(Source("x", text))
    assert not complaints
    (block,) = file.statements
    assert isinstance(block, Block)
    assert block.span.text == text[4:-1] and block.head.text == "model a from b"
    (setting,) = block.items
    assert isinstance(setting, Setting) and setting.span.text == "x = 1 + 2 * 3"
    assert depth(setting.value) == (3, 3)


@pytest.mark.parametrize("entry", std_entries(), ids=lambda entry: f"{entry.kind}-{entry.name}")
def test_the_standard_library_reads(entry: Any) -> None:
    by_kind: dict[str, Callable[[str], Model | Gpu | Cluster]] = {
        "model": std_model,
        "gpu": std_gpu,
        "cluster": std_cluster,
    }
    assert by_kind[entry.kind](entry.name).name == entry.name
    assert entry.doc and entry.file.endswith(".par")


def test_names_of_the_standard_library_that_do_not_exist() -> None:
    assert codes(std_model, "llama9_1b") == ["PAR011"]
    assert Library().find("model", "h100_sxm") is None


@pytest.mark.parametrize("text", ("/d/\udcff", "/d/\0", '"/d/\ud800"'))
def test_a_change_that_no_file_can_hold(text: str) -> None:
    with pytest.raises(JobError) as error:
        job(overrides=[f"target.alpha.data={text}"])
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.code == "PAR058" and diagnostic.span is not None
    assert diagnostic.span.source.name == "--set"


def test_a_file_whose_name_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"job\xff.par")
    path.write_text(MODEL + CLUSTER + TRAIN + TARGET)
    with pytest.raises(JobError) as error:
        load(path, targets=TARGETS)
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.code == "PAR059" and "'job\\udcff'" in diagnostic.message
    assert path.rename(tmp_path / "job.par") and load(tmp_path / "job.par", targets=TARGETS)


def test_an_imported_file_whose_only_fault_is_an_unknown_name(tmp_path: Path) -> None:
    """It was once left out as a consequence of itself, and nothing was said."""
    (tmp_path / "part.par").write_text("let a = nothing\n")
    path = tmp_path / "job.par"
    path.write_text('import "part.par"\n' + MODEL + CLUSTER + TRAIN + TARGET)
    with pytest.raises(JobError) as error:
        load(path, targets=TARGETS)
    (diagnostic,) = error.value.diagnostics
    assert (diagnostic.code, diagnostic.message) == ("PAR011", "unknown name `nothing`")


def test_a_job_keeps_the_overrides_it_was_read_with(folder: Path) -> None:
    write("job.par", MODEL + CLUSTER + TRAIN + TARGET)
    given = ("train.global_batch=64", "goal.within=0%")
    assert load("job.par", given, TARGETS).overrides == given
    assert load("job.par", targets=TARGETS).overrides == ()
