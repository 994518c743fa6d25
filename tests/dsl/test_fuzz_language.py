"""Whatever text is given as a job, the answer is a Job or complaints, and each complaint can be printed."""

from __future__ import annotations

import json
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from parc.dsl import JobError, loads
from parc.dsl.codes import CODES
from parc.dsl.diagnostics import Source
from parc.dsl.syntax.parser import parse
from tests.support.drawn_sizes import drawn
from tests.support.language_jobs import CLUSTER, GOAL, MODEL, TARGET, TARGETS, TRAIN
from tests.support.paths import ROOT

LAUNCH = (
    'launch slurm { time = 4 h; extra = { mem = 0; "mail-type" = "END" }; setup = ["a", "b"] }\n'
)
JOBS = [
    "let pods = 2 ** 2 # four\n" + MODEL + CLUSTER.replace("2", "pods..8") + TRAIN + TARGET + GOAL,
    "model from std.deepseek_v3 { layers = 12 }\ngpu mine from std.h200 { reserve = 1.5 GiB }\n"
    + CLUSTER.replace("nodes = 2", "nodes = {2, 4}; gpu = mine")
    + TRAIN.replace("64", "1Mi tokens")
    + TARGET
    + LAUNCH,
    *(path.read_text() for path in sorted((ROOT / "examples").glob("*.par"))),
]
TOKENS = sorted(
    {token for job in JOBS for token in re.findall(r"[\w.]+|\S", job)}
    | {
        "import",
        "let",
        "from",
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        "..",
        "**",
        "//",
        '"',
        '"x"',
        "\n",
        ";",
        "#",
        "%",
    }
    | {
        "1e400",
        "1e99",
        "-1",
        "0",
        "99999999999999999999",
        "GiB",
        "$/h",
        "none",
        "std.",
        "gpus",
        "\0",
        "\u00e9",
    }
)
QUICK = settings(max_examples=drawn(70, 800))


def check(text: str, overrides: tuple[str, ...] = ()) -> None:
    try:
        job = loads(text, targets=TARGETS, overrides=overrides)
    except JobError as error:
        assert error.diagnostics
        for diagnostic in error.diagnostics:
            assert diagnostic.code in CODES and diagnostic.message
            assert "\n" not in diagnostic.message
            json.dumps(diagnostic.to_json())
            if diagnostic.span is not None:
                span = diagnostic.span
                assert 0 <= span.start <= span.end <= len(span.source.text) + 1
    else:
        assert job.digest and job.model.layers > 0


def test_the_jobs_to_mutate_are_sound() -> None:
    for job in JOBS[:2]:
        assert loads(job, targets=TARGETS)


@QUICK
@given(st.text(max_size=200))
def test_random_text(text: str) -> None:
    check(text)


@QUICK
@given(st.lists(st.sampled_from(TOKENS), max_size=60))
def test_random_tokens(tokens: list[str]) -> None:
    check(" ".join(tokens))


@QUICK
@given(st.sampled_from(["goal", "model", "train", "cluster", "target alpha", "let x ="]), st.data())
def test_random_tokens_in_a_block(head: str, data: st.DataObject) -> None:
    tokens = data.draw(st.lists(st.sampled_from(TOKENS), max_size=30))
    check(f"{JOBS[0]}\n{head} {{ {' '.join(tokens)} }}")


@settings(QUICK, max_examples=drawn(130, 1600))
@given(st.data())
def test_mutated_jobs(data: st.DataObject) -> None:
    """Cuts, doubles, swaps and replaces tokens and characters of sound jobs."""
    pieces = re.findall(r"\w+|\s+|.", data.draw(st.sampled_from(JOBS)))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(pieces) - 1))
        other = data.draw(st.integers(0, len(pieces) - 1))
        match data.draw(st.sampled_from(["cut", "double", "swap", "replace", "insert"])):
            case "cut":
                del pieces[place]
            case "double":
                pieces.insert(place, pieces[place])
            case "swap":
                pieces[place], pieces[other] = pieces[other], pieces[place]
            case "replace":
                pieces[place] = data.draw(st.sampled_from(TOKENS))
            case "insert":
                pieces.insert(place, data.draw(st.text(max_size=3)))
    check("".join(pieces))


@QUICK
@given(st.lists(st.text(max_size=30), max_size=3), st.sampled_from(TOKENS))
def test_random_changes(texts: list[str], token: str) -> None:
    paths = ("train.seq_len=", "pods=", "goal.require=", "cluster.nodes=", "launch.partition=", "")
    check(JOBS[0], tuple(path + text for path in paths for text in [*texts, token]))


LEAVES = ["tp", "2", "3 GiB", "memory", "full", "50%", "1..4", "{2}", "true", '"x"']
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "<", "<=", "==", "!=", "in", "and", "or", ".."]
SHAPES = ["({})", "not {}", "-{}", "max({}, 2)", "log2({})"]


def wider(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.tuples(inner, st.sampled_from(OPERATORS), inner).map(" ".join)
    return pairs | st.tuples(st.sampled_from(SHAPES), inner).map(
        lambda pair: pair[0].format(pair[1])
    )


@QUICK
@given(st.recursive(st.sampled_from(LEAVES), wider, max_leaves=12))
def test_random_expressions(expression: str) -> None:
    """Well-formed expressions of every kind, in the goal and as a constant."""
    source = Source("x", f"let x = {expression}")
    _, complaints = parse(source)
    assert not complaints or ".." in expression or "in" in expression or "not" in expression
    check(f"{JOBS[0]}\ngoal {{ require {expression} }}")
    check(
        f"{MODEL}{CLUSTER}{TRAIN}{TARGET}\ngoal {{ require {expression} }}\nlet x = {expression}\n"
    )


@settings(QUICK, max_examples=60)
@given(st.sampled_from("([{-"), st.integers(50, 3000), st.sampled_from(["1", "", ")", "tp"]))
def test_deep_nesting(bracket: str, levels: int, inner: str) -> None:
    closing = {"(": ")", "[": "]", "{": "}", "-": ""}[bracket]
    check(f"let x = {bracket * levels}{inner}{closing * levels}\n{MODEL}")
    check(f"goal {{ require {'max(' * levels}{inner}{')' * levels} > 1 }}\n{MODEL}")


def test_wide_expressions() -> None:
    for text in ("+".join(["1"] * 5000), " < ".join(["tp"] * 5000), ", ".join(["1"] * 5000)):
        check(f"{MODEL}{CLUSTER}{TRAIN}{TARGET}goal {{ require tp in {{{text}}} }}\nlet x = {text}")
    chain = "\n".join(f"let a{n} = a{n + 1} + 1" for n in range(3000))
    check(f"{MODEL}{CLUSTER}{TRAIN}{TARGET}{chain}\nlet a3000 = 1\n")
    bases = "\n".join(f"gpu g{n} from g{n + 1} {{ }}" for n in range(300))
    check(f"{MODEL}{CLUSTER}{TRAIN}{TARGET}{bases}\ngpu g300 from std.h100_sxm {{ }}\n")
