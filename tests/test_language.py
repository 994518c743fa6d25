"""Text -> Job: units, expressions, imports, bases, changes from the command line, positions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from pydantic import BaseModel, ConfigDict, Field

from parc.dsl import Job, JobError, load, loads, std_cluster, std_entries, std_gpu, std_model
from parc.dsl.diagnostics import Source, Span
from parc.dsl.expression import evaluate
from parc.dsl.job import Doc, Unit
from parc.dsl.library import Library
from parc.dsl.parser import parse
from parc.dsl.syntax import Block, depth
from parc.dsl.units import UNITS, dimension, measure

GIB = 2**30


class Options(BaseModel):
    """A backend's settings, with one field of every kind."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    data: str | None = None
    buffer: Annotated[int, Unit("B"), Field(ge=0), Doc("bucket size")] = 0
    interval: Annotated[float | None, Unit("s")] = None
    mode: Literal["fast", "very-safe"] = "fast"
    plain: bool = False
    extra: dict[str, str | int | bool] = {}
    lines: tuple[str, ...] = ()


TARGETS = {"alpha": Options, "beta": Options}
MODEL = "model { layers = 4; hidden = 512; heads = 8; ffn = 2048; vocab = 32000 }\n"
CLUSTER = "cluster pod from std.dgx_h100 { nodes = 2 }\n"
TRAIN = "train { seq_len = 1024; global_batch = 64; tokens = 1G }\n"
TARGET = "target alpha { }\n"


def job(
    *, model: str = MODEL, cluster: str = CLUSTER, train: str = TRAIN, more: str = "", **change: Any
) -> Job:
    return loads(model + cluster + train + TARGET + more, targets=TARGETS, **change)


def codes(call: Any, *args: Any, **named: Any) -> list[str]:
    with pytest.raises(JobError) as error:
        call(*args, **named)
    return [diagnostic.code for diagnostic in error.value.diagnostics]


def constant(text: str) -> Any:
    """The value of an expression, seen through a setting of a target."""
    return job(more=f"let x = {text}\n", overrides=["train.learning_rate=x"]).train.learning_rate


@pytest.mark.parametrize(
    ("text", "value", "spelled"),
    [
        ("80 GiB", 80 * GIB, "B"),
        ("80GiB", 80 * GIB, "B"),
        ("512 KB", 512_000, "B"),
        ("450 GB/s", 450e9, "B/s"),
        ("400 Gb/s", 50e9, "B/s"),
        ("400 Gib/s", 50 * GIB, "B/s"),
        ("989.4 TFLOP/s", 989.4e12, "FLOP/s"),
        ("3 us", 3e-6, "s"),
        ("3 \u00b5s", 3e-6, "s"),
        ("250 ms", 0.25, "s"),
        ("5 min", 300, "s"),
        ("48 h", 172_800, "s"),
        ("30 d", 2_592_000, "s"),
        ("3.6 $/h", 0.001, "$/s"),
        ("2 K$", 2000, "$"),
        ("10.2 kW", 10_200, "J/s"),
        ("5 MWh", 18e9, "J"),
        ("15T", 15e12, "1"),
        ("4Mi", 4 * 2**20, "1"),
        ("4Mi tokens", 4 * 2**20, "token"),
        ("1024 sequences", 1024, "sequence"),
        ("1M tokens/s", 1e6, "token/s"),
        ("92%", 0.92, "1"),
        ("1_000_000", 1e6, "1"),
        ("3e-4", 3e-4, "1"),
        ("2.5e3 GB", 2.5e12, "B"),
    ],
)
def test_units(text: str, value: float, spelled: str) -> None:
    found = measure(text, Span(Source("x", text), 0, len(text)))
    assert found.value == pytest.approx(value, rel=1e-15)
    assert str(found.dimension) == spelled and dimension(spelled) == found.dimension


def test_whole_numbers_stay_exact() -> None:
    text = "9_007_199_254_740_993"
    assert measure(text, Span(Source("x", text), 0, len(text))).value == 2**53 + 1
    assert measure("0.7 TB", Span(Source("x", "0.7 TB"), 0, 6)).value == 700_000_000_000


def test_bits_are_an_eighth_of_bytes() -> None:
    for prefix in ("", "K", "M", "G", "T", "Ki", "Gi"):
        assert UNITS[f"{prefix}b"][0] * 8 == UNITS[f"{prefix}B"][0]


@pytest.mark.parametrize(
    "text", ["3 GBs", "3 parsec", "4 GB GB", "4 M K", "4 GB/x", "1 GiB/s/", "2 tokens M"]
)
def test_unknown_units(text: str) -> None:
    assert codes(job, more=f"let x = {text}\n") in (["PAR012"], ["PAR001"])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("2 ** 3 ** 0", 2),
        ("-2 ** 2 + 5", 1),
        ("7 // 2", 3),
        ("7 % 4", 3),
        ("10 - 4 - 3", 3),
        ("16 / 4 / 2", 2),
        ("min(3, 2, 5)", 2),
        ("max(3, 2 + 2)", 4),
        ("ceil(7 / 2)", 4),
        ("floor(7 / 2)", 3),
        ("log2(1Ki)", 10),
        ("48 h / 12 h", 4),
        ("80 GiB / 10 GiB", 8),
        ("5 min // 1 min", 5),
        ("100% - 8%", 0.92),
        ("(1 +\n 2)", 3),
    ],
)
def test_arithmetic(text: str, value: float) -> None:
    assert constant(f"({text}) / 100") == pytest.approx(value / 100)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 < 2", True),
        ("1 < 2 <= 2", True),
        ("1 < 2 > 3", False),
        ("3 GiB >= 3 GB and not 1 == 2", True),
        ("false or 1 != 1", False),
        ("4 in {2, 4}", True),
        ("4 not in 2..8", False),
        ("5 in 2..8", True),
        ('"a" == "a"', True),
        ('"a" in {"b"}', False),
        ("60 s == 1 min", True),
        ("0 == 0 GiB", True),
    ],
)
def test_conditions_on_constants(text: str, value: bool) -> None:
    assert job(more=f"let x = {text}\n", overrides=["model.causal=x"]).model.causal is value


@pytest.mark.parametrize(
    "text",
    [
        "1 + true",
        "not 3",
        "1 GB + 1 s",
        "1 < true",
        '"a" < "b"',
        "1 in 4",
        "min()",
        "log2(3 s)",
        "{1} + 1",
        "2..1 s",
        "1 and 2",
    ],
)
def test_senseless_constants(text: str) -> None:
    assert set(codes(job, more=f"let x = {text}\n")) <= {"PAR013", "PAR014"}


def test_constants_may_stand_after_their_use() -> None:
    assert (
        job(
            more="let a = b * 2\nlet b = c + 1\nlet c = 3\n", overrides=["model.layers=a"]
        ).model.layers
        == 8
    )


def test_nodes() -> None:
    def nodes(text: str) -> tuple[int, ...]:
        return job(
            cluster=f"let some = {{2, 4}}\ncluster from std.dgx_h100 {{ nodes = {text} }}\n"
        ).cluster.nodes

    assert nodes("8") == (8,)
    assert nodes("4..7") == (4, 5, 6, 7)
    assert nodes("{16, 4,\n 8}") == (4, 8, 16)
    assert nodes("some") == (2, 4)
    assert nodes("2 * 2 .. 5") == (4, 5)


def test_batch_in_tokens() -> None:
    train = TRAIN.replace("64", "4Mi tokens")
    assert job(train=train).train.global_batch == 4096
    assert job(train=train, overrides=["train.seq_len=2048"]).train.global_batch == 2048
    assert job(train=TRAIN.replace("64", "64 sequences")).train.global_batch == 64


def test_every_kind_of_setting_of_a_target() -> None:
    text = """target beta {
      data = "a \\"b\\" \\\\ \\t"   # with a # and quotes
      buffer = 1.5 GiB; interval = 10 min; mode = very-safe; plain = true
      extra = {
        mem = 0; "mail-type" = "END"
        on = true
      }
      lines = ["one",
        "two"]
    }\n"""
    found = job(more=text).targets[1]
    assert found.name == "beta"
    assert found.options == Options(
        data='a "b" \\ \t',
        buffer=3 * GIB // 2,
        interval=600.0,
        mode="very-safe",
        plain=True,
        extra={"mem": 0, "mail-type": "END", "on": True},
        lines=("one", "two"),
    )


def test_none_takes_back() -> None:
    assert job(overrides=["train.tokens=none", "train.steps=5000"]).train.tokens is None
    assert (
        job(model=MODEL.replace("heads = 8", "heads = 8; position = none")).model.position == "none"
    )
    assert codes(job, overrides=["model.layers=none"]) == ["PAR011"]


GOAL = """goal {
  maximize mfu; minimize cost
  require memory <= 50%            : "half"
  require 2 <= tp <= 8 and pp not in {3, 5}
  forbid recompute == full or schedule == 1f1b
  prefer micro_batch in 2..4
  require model.layers % pp == 0 and gpus * 2 >= cluster.gpus_per_node
  require days <= 30 d and tokens_per_second >= 1M tokens/s
  require max(tp, pp) < 16 and ceil(dp / 3) <= log2(4Ki)
  require memory in 10 GiB..40 GiB
  require recompute in {none, selective}
}
"""


def test_goal() -> None:
    goal = job(more=GOAL).goal
    assert [(o.direction, o.quantity) for o in goal.objectives] == [
        ("maximize", "mfu"),
        ("minimize", "cost"),
    ]
    assert [c.kind for c in goal.constraints] == ["require"] * 2 + ["forbid", "prefer"] + [
        "require"
    ] * 5
    assert [c.reason for c in goal.constraints][:2] == ["half", None]
    assert goal.constraints[0].text == "memory <= 50%"
    assert goal.constraints[2].text == "recompute == full or schedule == 1f1b"
    columns = {
        "memory": np.array([0.4, 0.5, 0.52]) * std_gpu("h100_sxm").memory,
        "tp": np.array([1, 8, 4]), "pp": np.array([1, 2, 3]),
        "recompute": np.array([0, 2, 1]), "schedule": np.array([1, 1, 0]), "micro_batch": np.array([1, 2, 4]),
        "gpus": np.array([3, 4, 5]), "days": np.array([29, 31, 1]) * 86400.0, "dp": np.array([1, 2, 40]),
        "tokens_per_second": np.array([2e6, 2e6, 1.0]),
    }  # fmt: skip
    held = [evaluate(c.expression, columns).tolist() for c in goal.constraints]
    assert held == [
        [True, True, False],
        [False, True, False],
        [False, True, True],
        [False, True, True],
        [False, True, False],
        [True, False, False],
        [True, True, False],
        [True, True, False],
        [True, False, True],
    ]


def test_memory_share_is_of_the_gpu_in_use() -> None:
    goal = "goal { require memory <= 50% }\n"
    constraint = job(more=goal, overrides=["cluster.gpu.memory=40 GiB"]).goal.constraints[0]
    assert evaluate(constraint.expression, {"memory": 20.0 * GIB})
    assert not evaluate(constraint.expression, {"memory": 20.1 * GIB})


def test_long_ranges_in_goals_become_comparisons() -> None:
    constraint = job(more="goal { require gpus not in 100..1M }\n").goal.constraints[0]
    assert evaluate(constraint.expression, {"gpus": np.array([99, 100, 1_000_001])}).tolist() == [
        True,
        False,
        True,
    ]


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
    assert found.launch is not None and found.launch.account == "llm"
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


def test_line_ends_and_byte_order_mark(folder: Path) -> None:
    text = "\ufeff" + (MODEL + CLUSTER + TRAIN + TARGET + GOAL).replace("\n", "\r\n")
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
    assert found.launch is not None and found.launch.partition == "h100=x y"
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
    assert found == ["PAR017", "PAR011", "PAR011", "PAR013", "PAR011", "PAR011"]


def test_tree_has_spans_and_order() -> None:
    text = "# c\nmodel a from b { x = 1 + 2 * 3 }\n"
    file, complaints = parse(Source("x", text))
    assert not complaints
    (block,) = file.statements
    assert isinstance(block, Block)
    assert block.span.text == text[4:-1] and block.head.text == "model a from b"
    (setting,) = block.items
    assert setting.span.text == "x = 1 + 2 * 3"
    assert depth(setting.value) == 3  # type: ignore[union-attr]


@pytest.mark.parametrize("entry", std_entries(), ids=lambda entry: f"{entry.kind}-{entry.name}")
def test_the_standard_library_reads(entry: Any) -> None:
    by_kind = {"model": std_model, "gpu": std_gpu, "cluster": std_cluster}
    assert by_kind[entry.kind](entry.name).name == entry.name
    assert entry.doc and entry.file.endswith(".par")


def test_names_of_the_standard_library_that_do_not_exist() -> None:
    assert codes(std_model, "llama9_1b") == ["PAR011"]
    assert Library().find("model", "h100_sxm") is None
