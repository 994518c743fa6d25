"""`cp_comm` under `target megatron`: chosen, written, read back, priced, refused, linted."""

from __future__ import annotations

import random
import re
from itertools import product

import numpy as np
import pytest

from parc.backends.launch_files import read_jobs
from parc.backends.megatron import BACKEND
from parc.backends.megatron.context_ways import ALL, CARRIES, own_sizes, sizes, ways
from parc.backends.megatron.options import Options
from parc.backends.megatron.read import READER
from parc.compiler import estimate
from parc.compiler.case import Case
from parc.compiler.plan import Estimate, Layout
from parc.compiler.rules.context_heads import possible
from parc.compiler.rules.validity import problems
from parc.compiler.time import context_exchange
from parc.dsl.job import Job
from parc.dsl.model import Model
from parc.lint.judging import LintOptions
from parc.lint.run import lint_texts
from parc.lint.unexpressed import unexpressed
from parc.reading.facts import LaunchConfig
from tests.support import sample_plans
from tests.support.megatron_plans import DENSE, plan_of, with_model
from tests.support.sample_plans import train_of

#: 32 heads, 8 key-value heads, 64 GPUs in nodes of 8.
LONG = 131_072
ACROSS = Layout(tp=2, cp=8, dp_shard=4, zero=1, microbatches=8)


def job_of(way: str | None = None, model: Model = DENSE, **options: object) -> Job:
    chosen = Options.model_validate({"cp_comm": way, **options})
    train = train_of(seq_len=LONG, global_batch=32)
    return sample_plans.sample_job("megatron", chosen, model=model, train=train, nodes=(8,))


def script(way: str | None, layout: Layout = ACROSS) -> dict[str, str]:
    options = Options.model_validate({"cp_comm": way})
    plan = plan_of(layout=layout, options=options, seq_len=LONG)
    return BACKEND.emit(plan)


def words(files: dict[str, str], option: str) -> list[str]:
    found = re.search(rf"{option}((?: [\w+]+)+)", files["megatron/pretrain.sh"])
    return found[1].split() if found else []


def command(**sizes: object) -> LaunchConfig:
    """A hierarchical command on nodes of 8, with other numbers where they are given."""
    numbers = {"tp": 2, "cp": 8, "heads": 64, "keys": 16, "inner": 4, "outer": 2, **sizes}
    text = (
        "torchrun --nproc-per-node 8 --nnodes 8 pretrain_gpt.py --num-layers 32 --hidden-size 8192 "
        "--num-attention-heads {heads} --group-query-attention --num-query-groups {keys} "
        "--micro-batch-size 1 --global-batch-size 8 --tensor-model-parallel-size {tp} "
        "--context-parallel-size {cp} --cp-comm-type a2a+p2p "
        "--hierarchical-context-parallel-sizes {inner} {outer}\n"
    )
    (config,) = read_jobs({"train.sh": text.format(**numbers)})
    return config


def test_sizes_of_a_command_are_those_that_a_plan_has() -> None:
    drawn = random.Random(20261127)
    for _ in range(60):
        tp, cp = drawn.choice((1, 2, 4, 8)), drawn.choice((2, 3, 4, 6, 8, 12, 16))
        keys = drawn.choice((1, 2, 4, 6, 8, 12, 24))
        heads = keys * drawn.choice((1, 2, 4, 8))
        model = DENSE.model_copy(update={"heads": heads, "kv_heads": keys})
        inner, outer = sizes(job_of(model=model), tp, cp)
        config = command(tp=tp, cp=cp, heads=heads, keys=keys, inner=inner, outer=outer)
        assert own_sizes(config) == (inner > 1), (tp, cp, heads, keys, inner)


@pytest.mark.parametrize("name", ["tp", "cp", "heads", "keys"])
@pytest.mark.parametrize("value", [0, -1, 10**12, 10**9 + 7])
def test_sizes_beside_numbers_that_nobody_means(name: str, value: int) -> None:
    assert own_sizes(command(**{name: value})) in (True, False)


@pytest.mark.parametrize("way", ALL)
def test_a_way_is_written_and_read_back(way: str) -> None:
    layout = ACROSS if way != "a2a" else Layout(tp=2, cp=4, dp_shard=8, zero=1, microbatches=4)
    files = script(way, layout)
    (config,) = read_jobs(files)
    assert READER.options(config)["cp_comm"] == way
    assert [each.name for each in unexpressed(config) if "cp-comm" in each.name] == []
    assert [each.name for each in unexpressed(config) if "hierarchical" in each.name] == []
    assert bool(words(files, "--hierarchical-context-parallel-sizes")) == (way == "hierarchical")


def test_sizes_of_a_hierarchy_are_an_all_to_all_inside_a_node() -> None:
    files = script("hierarchical")
    assert words(files, "--cp-comm-type") == ["a2a+p2p"]
    assert words(files, "--hierarchical-context-parallel-sizes") == ["4", "2"]
    assert sizes(job_of(), 1, 16) == (8, 2)
    # 8 key-value heads over tp 8 leave none to exchange.
    assert sizes(job_of(), 8, 4) == (1, 4)


def test_open_is_about_the_fastest_of_those_that_fit() -> None:
    """Against every way priced alone, on all degrees: none that fits is faster by more than noise."""
    target = BACKEND.target
    for tp, cp in product((1, 2, 4, 8), (2, 4, 8, 16)):
        if tp * cp > 64:
            continue
        layout = {
            "nodes": 8,
            "tp": tp,
            "pp": 1,
            "cp": cp,
            "zero": 1,
            "micro_batch": 1,
            "recompute": 0,
        }
        layout["dp_shard"] = 64 // (tp * cp)
        if 32 % layout["dp_shard"]:
            continue
        free = estimate(job_of(), target, layout)
        alone: dict[str, Estimate] = {
            way: estimate(job_of(way), target, layout)
            for way in ALL
            if possible(job_of(), way, np.array([tp]), np.array([cp])).all()
        }
        assert free.step_seconds == alone[free.cp_comm or "p2p"].step_seconds
        assert free.step_seconds <= 1.01 * min(each.step_seconds for each in alone.values())


def test_gathered_keys_take_memory() -> None:
    layout = {"nodes": 8, "tp": 1, "pp": 1, "cp": 8, "dp_shard": 8, "zero": 1, "micro_batch": 1}
    layout |= {"recompute": 2, "recompute_layers": 0}
    ring, whole = (estimate(job_of(way), BACKEND.target, layout) for way in ("p2p", "all_gather"))
    # Keys, values and their gradients, of 8 heads of 128 and all tokens in 16 bits.
    assert 0 <= whole.memory_bytes - ring.memory_bytes <= 4 * 2 * 8 * 128 * LONG + 2**20
    case = Case(job_of("all_gather"), BACKEND.target)
    assert context_exchange.gathered_bytes(case, 1, 8, 1) == 2 * 2 * 8 * 128 * LONG


SINKS, WINDOW = with_model(DENSE, attention_sinks=True), with_model(DENSE, window=1024)


@pytest.mark.parametrize(
    ("model", "open_ways"),
    [(DENSE, ALL), (SINKS, ("a2a",)), (WINDOW, CARRIES["window"])],
)
def test_what_attention_a_way_carries(model: Model, open_ways: tuple[str, ...]) -> None:
    assert ways(job_of(model=model)) == open_ways
    for way in ALL:
        refused = BACKEND.target.refuses(job_of(way, model))
        assert ("does not support" in str(refused)) == (way not in open_ways)


def test_latent_attention_travels_a_ring() -> None:
    job = sample_plans.sample_job("megatron", Options(), model=sample_plans.DEEPSEEK_V3)
    assert ways(job) == ("p2p", "hierarchical")


@pytest.mark.parametrize(
    ("way", "tp", "cp", "said"),
    [
        ("a2a", 2, 8, "kv_heads 8 / tp 2 = 4 is not a multiple of cp 8 (a2a)"),
        ("a2a", 1, 64, "heads 32 / tp 1 = 32 is not a multiple of cp 64 (a2a)"),
        ("hierarchical", 8, 4, "cp 4 with tp 8 has no all-to-all inside a ring"),
    ],
)
def test_heads_are_divided_or_refused(way: str, tp: int, cp: int, said: str) -> None:
    layout = Layout(tp=tp, cp=cp, dp_shard=64 // (tp * cp), zero=1, nodes=8)
    found = [
        each for each in problems(job_of(way), BACKEND.target, layout) if each.code == "PAR315"
    ]
    assert len(found) == 1 and found[0].message.startswith(said)


BASE = (
    "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 "
    "--num-attention-heads 32 --seq-length 8192 --max-position-embeddings 8192 --micro-batch-size 1 "
    "--bf16 --context-parallel-size 4 "
)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ("--window-size 1024,0", "PAR303"),
        ("--window-size 1024,0 --cp-comm-type all_gather", None),
        ("--softmax-type learnable --cp-comm-type all_gather", "PAR303"),
        ("--softmax-type learnable --cp-comm-type a2a", None),
        ("--multi-latent-attention --cp-comm-type a2a", "PAR312"),
        ("--multi-latent-attention --cp-comm-type p2p", None),
        ("--cp-comm-type a2a+p2p", "PAR303"),
    ],
)
def test_what_transformer_engine_refuses_is_linted(options: str, code: str | None) -> None:
    found = [
        each.diagnostic
        for judged in lint_texts({"train.sh": BASE + options}, LintOptions(), {})
        for each in judged.findings
        if "cp-comm-type" in each.diagnostic.message or "hierarchical" in each.diagnostic.message
    ]
    assert [each.code for each in found] == ([code] if code else [])


def test_a_space_without_layouts_has_no_ways() -> None:
    none = np.zeros(0, dtype=np.int64)
    case = Case(job_of(), BACKEND.target)
    assert context_exchange.chosen(case, none, none, none).size == 0
