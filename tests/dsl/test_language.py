"""Values and expressions: units, arithmetic, sets and ranges, conditions of a goal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parc.dsl import JobError, loads, std_gpu
from parc.dsl.diagnostics import Source, Span
from parc.dsl.expression import evaluate
from parc.dsl.settings import Data
from parc.dsl.units import UNITS, dimension, measure
from tests.support.language_jobs import CLUSTER, GOAL, MODEL, TARGETS, TRAIN, Options, codes, job

GIB = 2**30


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
      corpus = { "a" = 0.7; "b c" = 2 }
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
        corpus=Data(parts=(("a", 0.7), ("b c", 2.0))),
    )


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("synthetic", ()),
        ('"/data/a b"', (("/data/a b", 1.0),)),
        ('["a", "b"]', (("a", 1.0), ("b", 1.0))),
        ('{ "a" = 70%; b = 2 * 3 }', (("a", 0.7), ("b", 6.0))),
        ("none", None),
    ],
)
def test_data(text: str, parts: tuple[tuple[str, float], ...] | None) -> None:
    found = job(more=f"target beta {{ corpus = {text} }}\n").targets[1].options.corpus
    assert found == (None if parts is None else Data(parts=parts))
    assert found is None or found.synthetic == (not parts)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("/data/a b", (("/data/a b", 1.0),)),
        ("c4", (("c4", 1.0),)),
        ("synthetic", ()),
        ('["a", "b"]', (("a", 1.0), ("b", 1.0))),
        ('"a"', (("a", 1.0),)),
    ],
)
def test_data_of_the_command_line(text: str, parts: tuple[tuple[str, float], ...]) -> None:
    found = job(overrides=[f"target.alpha.corpus={text}"]).targets[0].options.corpus
    assert found == Data(parts=parts)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("c4", "PAR022"),
        ("[]", "PAR014"),
        ("5", "PAR014"),
        ("[5]", "PAR014"),
        ('{ "a" = 0 }', "PAR014"),
        ('{ "a" = "b" }', "PAR014"),
        ('{ "a" = 1 GiB }', "PAR014"),
        ('{ "a" = 1; "a" = 2 }', "PAR015"),
    ],
)
def test_data_that_is_none(text: str, code: str) -> None:
    assert codes(job, more=f"target beta {{ corpus = {text} }}\n") == [code]


@pytest.mark.parametrize(
    ("length", "steps"),
    [
        ("steps = 100", 5),
        ("steps = 19", 0),
        ("steps = 40_000", 2000),
        ("steps = 1M", 2000),
        ("steps = 100; warmup = 7", 7),
        ("steps = 100; warmup = 0", 0),
        ("tokens = 64Mi tokens", 51),
    ],
)
def test_the_warmup_follows_the_length_of_the_run(length: str, steps: int) -> None:
    """64 sequences of 1,024 tokens a step: 64Mi tokens are 1,024 steps."""
    train = f"train {{ seq_len = 1024; global_batch = 64; {length} }}\n"
    assert job(train=train).train.warmup_steps == steps


def test_the_decay_of_wsd_is_a_tenth_unless_given() -> None:
    train = "train { seq_len = 1024; global_batch = 64; steps = 500; schedule = wsd; "
    assert job(train=train + "}\n").train.wsd_steps == 50
    assert job(train=train + "decay_steps = 80 }\n").train.wsd_steps == 80


@pytest.mark.parametrize(
    "key", ["lora", "qlora", "lora_rank", "use_peft", "adapters", "dora", "LoRA"]
)
@pytest.mark.parametrize("block", ["model", "train", "target alpha"])
def test_adapters_are_refused_by_name(key: str, block: str) -> None:
    texts = {"model": MODEL, "train": TRAIN, "target alpha": "target alpha { }\n"}
    changed = texts[block].replace("{", f"{{ {key} = 1;", 1)
    text = "".join(changed if name == block else each for name, each in texts.items())
    assert codes(loads, text + CLUSTER, targets=TARGETS) == ["PAR055"]


@pytest.mark.parametrize("key", ["loran", "adaptive", "explora", "peftx"])
def test_other_unknown_settings_are_no_adapters(key: str) -> None:
    assert codes(job, train=TRAIN.replace("{", f"{{ {key} = 1;", 1)) == ["PAR011"]


def test_an_override_of_a_moved_setting_is_told_the_new_place() -> None:
    with pytest.raises(JobError) as caught:
        job(overrides=["target.alpha.aux_loss=0.1"])
    (said,) = caught.value.diagnostics
    assert (said.code, said.help) == ("PAR011", "moved: say `model { aux_loss = ... }`")


def test_none_takes_back() -> None:
    assert job(overrides=["train.tokens=none", "train.steps=5000"]).train.tokens is None
    assert (
        job(model=MODEL.replace("heads = 8", "heads = 8; position = none")).model.position == "none"
    )
    assert codes(job, overrides=["model.layers=none"]) == ["PAR011"]


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


def test_shares_may_be_named() -> None:
    more = "let ceiling = 100% - 50%\ngoal { require memory <= ceiling }\n"
    constraint = job(more=more).goal.constraints[0]
    assert evaluate(constraint.expression, {"memory": std_gpu("h100_sxm").memory / 2})


@pytest.mark.parametrize(
    "nodes", ["0", "-3", "0..4", "{1, 0}", "1e7", "1.5", "{}", "3 GiB", "true"]
)
def test_nodes_out_of_bounds(nodes: str) -> None:
    found = codes(job, cluster=CLUSTER.replace("2", nodes))
    assert found in (["PAR018"], ["PAR014"], ["PAR013"], ["PAR021"])


@pytest.mark.parametrize("op", ["+", "-", "*"])
def test_operations_in_a_row_are_one_level(op: str) -> None:
    flat = f" {op} ".join(["0.001"] * 239)
    assert constant(f"{flat} + 1") == pytest.approx(1 + {"+": 0.239, "-": -0.237, "*": 0.0}[op])
    assert job(more=f"goal {{ maximize mfu; require {' + '.join(['tp'] * 120)} <= 1e6 }}")


def test_more_operations_in_a_row_are_refused() -> None:
    with pytest.raises(JobError) as refused:
        job(more=f"let x = {' + '.join(['1'] * 241)}\n")
    (complaint,) = (each for each in refused.value.diagnostics if each.code == "PAR004")
    assert complaint.message == "241 operations in a row, at most 240 are read"
