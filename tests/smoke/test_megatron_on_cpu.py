"""parc smoke's Megatron-LM without a GPU: what stands in for its data loader's extension and its masks."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import numpy
import pytest

from parc.backends.megatron.on_cpu import CAPABILITY, places, sample_index, seen
from parc.backends.megatron.options import Options
from parc.backends.megatron.smoke import SMOKE, write_documents
from parc.backends.smoke_text import LENGTH, TEXTS
from parc.compiler.plan import Layout
from parc.smoke import Interpreter, Request, prepare
from tests.support.megatron_plans import plan_of
from tests.support.sample_plans import LLAMA3_8B, sample_plan

HERE = Interpreter("python", {"torch": "2", "numpy": "2", "psutil": "7"}, 0)


def walked(sizes: list[int], order: list[int], length: int, count: int) -> list[tuple[int, int]]:
    """Place and offset of every sequence's first token, token by token."""
    tokens = [(place, offset) for place, each in enumerate(order) for offset in range(sizes[each])]
    return [tokens[number * length] for number in range(count + 1)]


@pytest.mark.parametrize("length", [1, 2, 3, 5, 8])
def test_sequences_begin_where_megatron_lm_says(length: int) -> None:
    sizes, order = [3, 1, 7, 2, 5], [4, 0, 2, 1, 3, 2, 4, 1, 0, 3]
    tokens = sum(sizes)
    found = sample_index().build_sample_idx_int32(
        numpy.array(sizes), numpy.array(order), length, 2, tokens, True, 1
    )
    count = (2 * tokens - 1) // length
    assert [tuple(row) for row in found.tolist()] == walked(sizes, order, length, count)


def test_documents_are_an_index_and_their_tokens(tmp_path: Path) -> None:
    prefix = tmp_path / "work" / "documents"
    write_documents(prefix)
    head = "<9sQBQQ"
    index, size = prefix.with_suffix(".idx").read_bytes(), struct.calcsize(head)
    magic, version, kind, sequences, documents = struct.unpack(head, index[:size])
    assert (magic, version, kind) == (b"MMIDIDX\0\0", 1, 8)
    assert (sequences, documents) == (TEXTS, TEXTS + 1)
    assert len(index) == size + 4 * sequences + 8 * sequences + 8 * documents
    lengths = numpy.frombuffer(index, numpy.int32, sequences, size)
    begins = numpy.frombuffer(index, numpy.int64, sequences, size + 4 * sequences)
    data = prefix.with_suffix(".bin").read_bytes()
    assert set(lengths) == {LENGTH} and begins[-1] + 2 * LENGTH == len(data)


def test_every_token_stands_on_one_context_rank() -> None:
    class Numpy:
        arange, cat = staticmethod(numpy.arange), staticmethod(numpy.concatenate)

    found = [places(Numpy, 4, rank, 3).tolist() for rank in range(3)]
    assert found == [[0, 1, 10, 11], [2, 3, 8, 9], [4, 5, 6, 7]]


def test_a_window_hides_what_is_further_back() -> None:
    places = numpy.arange(4)
    assert seen(places, places, None).sum(1).tolist() == [1, 2, 3, 4]
    assert seen(places, places, (1, 0)).sum(1).tolist() == [1, 2, 2, 2]


def test_the_emitted_launcher_starts_the_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEGATRON_ROOT", "/checkout")
    layout = Layout(tp=2, pp=2, dp_shard=2, zero=1, micro_batch=1, microbatches=8)
    plan = sample_plan("megatron", model=LLAMA3_8B, layout=layout)
    ready = prepare(plan, Request(HERE, 4, 5), tmp_path)
    assert ready is not None and (ready.plan.layout.tp, ready.plan.layout.pp) == (2, 2)
    script = (tmp_path / "megatron" / "pretrain.sh").read_text()
    assert 'MEGATRON_PATH="${MEGATRON_PATH:-/checkout}"' in script
    assert re.search(r"DATA_PATH=.*work/documents", script) and "--mock-data" not in script
    assert ready.environment[CAPABILITY] == "90"
    assert ready.environment["PYTHONPATH"].startswith(str(Path("smoke", "on_cpu").absolute()))
    stand_ins = Path("backends", "megatron", "on_cpu.py").absolute()
    assert ready.environment["PARC_SMOKE_STAND_INS"] == f"megatron.core={stand_ins}"


def test_kernels_that_only_gpus_have_are_left_out_and_named(tmp_path: Path) -> None:
    kernels = Options(
        attention_kernel="fa3", loss_kernel="fused", fp8_recipe="tensorwise", cuda_graph=True
    )
    plan = plan_of(options=kernels, precision="fp8")
    ready = prepare(plan, Request(HERE, 2, 4), tmp_path)
    assert ready is not None and ready.plan.options.model_dump().items() >= {
        "attention_kernel": "cudnn", "loss_kernel": "eager", "fp8_recipe": "delayed", "cuda_graph": False,
    }.items()  # fmt: skip
    lost = " ".join(SMOKE.replaced(plan.job))
    assert "fused loss" in lost and "CUDA graph" in lost
    assert SMOKE.settings(plan.job, tmp_path / "gpu", True).cuda_graph
