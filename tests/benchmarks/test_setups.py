"""What a row of the published runs becomes: a case, a layout, seconds in its source's convention."""

from __future__ import annotations

import csv
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.accuracy import accuracy
from benchmarks.accuracy.rows import gpu_names
from benchmarks.accuracy.rows.csv_rows import Unusable, row_of
from benchmarks.accuracy.rows.measured_seconds import (
    CONVENTIONS,
    from_flops,
    from_mfu,
    measured_seconds,
)
from benchmarks.accuracy.setups.layer_placement import filled
from benchmarks.accuracy.setups.prediction import predict, price_range
from benchmarks.accuracy.setups.recipes import offloaded_share
from benchmarks.accuracy.setups.setup import setup_of
from benchmarks.accuracy.setups.stacks import STACKS, stack_of
from parc.compiler.case import Case
from parc.compiler.memory import activations
from parc.compiler.time.layers import attention_core
from parc.compiler.time.parallel_traffic import reduce_seconds
from tests.support.measured_rows import row


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("NVIDIA H200", "H200"),
        ("NVIDIA H100 80GB HBM3", "H100-SXM"),
        ("NVIDIA H100 PCIe", "H100-PCIE"),
        ("h100_sxm", "H100-SXM"),
        ("NVIDIA A100-SXM4-40GB", "A100-40"),
        ("NVIDIA A100-PCIE-40GB", "A100-PCIE-40"),
        ("NVIDIA A100-SXM4-80GB", "A100-80"),
        ("a800", "A800-80"),
        ("Tesla V100-SXM2-32GB", "V100-32"),
        ("V100 16 GB", "V100-16"),
        ("NVIDIA B200", "B200"),
        ("NVIDIA GB200", "GB200"),
        ("AMD Instinct MI300X OAM", "MI300X"),
        ("NVIDIA A100 80GB PCIe", "A100-PCIE-80"),
        ("NVIDIA GH200 480GB", "GH200"),
        ("NVIDIA GH200 120GB", "GH200"),
        ("NVIDIA H20", "H20"),
        ("NVIDIA L40S", "L40S"),
        ("NVIDIA GeForce RTX 4090", None),
        ("NVIDIA GH200 144G HBM3e", None),
        ("NVIDIA H20-3e", None),
        ("NVIDIA L40", None),
        ("NVIDIA H100 NVL", None),
        ("A100", None),
        ("", None),
    ],
)
def test_a_gpu_by_any_of_its_names(said: str, name: str | None) -> None:
    """Of parts that differ none is taken for another."""
    assert gpu_names.gpu_named(said) == name


@pytest.mark.parametrize("gpus_per_node", ["4", "8"])
def test_zero_3_of_2021_reaches_one_port_of_a_node(gpus_per_node: str) -> None:
    """However many GPUs a node has: what all its ports carry is divided by as many."""
    sharded = {"gpus_per_node": gpus_per_node, "zero_stage": "3", "tp": "1", "dp": "128"}
    case = setup_of(row(framework="deepspeed", mbs="4", **sharded)).case
    assert case.traits.wire.wide_ports == 1

    def seconds(ports: int | None) -> float:
        traits = case.traits.replaced(wide_ports=ports)
        target = replace(case.target, traits=traits)
        return float(reduce_seconds(Case(case.job, target), 3, 128, 1, 1))

    ports = int(gpus_per_node)
    saved = (seconds(1) - seconds(2)) / (seconds(1) - seconds(None))
    assert saved == pytest.approx((ports - ports / 2) / (ports - 1))


@pytest.mark.parametrize(
    ("said", "dimensions"),
    [
        ("Llama-3.1-8B", (32, 4096, 8, 14336, 128256)),
        ("llama3 70B", (80, 8192, 8, 28672, 128256)),
        ("Qwen2.5-7B-Instruct", (28, 3584, 4, 18944, 152064)),
        ("Mistral 7B v0.3", (32, 4096, 8, 14336, 32768)),
        ("DeepSeek-V2-Lite", (27, 2048, None, 10944, 102400)),
    ],
)
def test_a_name_alone_says_the_dimensions(
    said: str, dimensions: tuple[int, int, int | None, int, int]
) -> None:
    open_fields = ("layers", "hidden", "heads", "kv_heads", "ffn_hidden", "gated_mlp", "vocab")
    model = setup_of(row(model=said, **dict.fromkeys(open_fields, ""))).case.model
    assert (model.layers, model.hidden, model.kv_heads, model.ffn, model.vocab) == dimensions


def test_stated_dimensions_come_before_the_name() -> None:
    model = setup_of(row(model="Llama-3.1-8B", layers="4", hidden="1024", heads="8")).case.model
    assert (model.layers, model.hidden, model.heads) == (4, 1024, 8)


def test_words_may_be_written_in_capitals() -> None:
    written = row(
        precision="FP16", recompute="Full", attention="Unfused", flops_convention="Hardware"
    )
    assert setup_of(written).asked == setup_of(row()).asked


def test_every_gpu_of_the_table_is_named_by_itself() -> None:
    found = {name: gpu_names.GPUS[gpu_names.gpu_named(name) or ""] for name in gpu_names.GPUS}
    assert found == gpu_names.GPUS


@pytest.mark.parametrize(
    ("sp", "per_token"),
    [("0", 10 + 24 / 4 + 5 * 32 * 2048 / (4096 * 4)), ("1", (34 + 5 * 32 * 2048 / 4096) / 4)],
)
def test_activations_of_the_paper(sp: str, per_token: float) -> None:
    """Korthikanti et al. 2022, equations 2 and 4, and the softmax statistics of 4 bytes per head."""
    case = setup_of(row(sp=sp)).case
    kept = activations.attention_bytes(case, 4, 1, 1) + activations.dense_bytes(case, 4, 2048)
    assert kept == pytest.approx(2048 * (4096 * per_token + 4 * 32 / 4), rel=1e-9)


def test_flops_of_the_paper() -> None:
    """96 B s L h^2 (1 + s/6h + V/16Lh), Narayanan et al. 2021, equation 3."""
    setup = setup_of(row())
    batch, seq, layers, hidden, vocab = 512, 2048, 36, 4096, 51200
    share = 1 + seq / (6 * hidden) + vocab / (16 * layers * hidden)
    flops = 96 * batch * seq * layers * hidden**2 * share
    assert measured_seconds(setup.case, setup.row) == pytest.approx(
        flops / (142e12 * 128), rel=1e-9
    )


def test_recompute_is_hardware_work_alone() -> None:
    def seconds(recompute: str) -> float:
        stated = row(recompute=recompute)
        return from_flops(setup_of(stated).case, stated) or 0.0

    assert 0 < seconds("none") < seconds("selective") < seconds("full")


def test_mfu_counts_the_model_alone() -> None:
    given = row(tflops_per_gpu="", mfu="0.3", flops_convention="model", recompute="none")
    as_rate = row(tflops_per_gpu="93.6", flops_convention="model", recompute="none")
    case = setup_of(given).case
    assert from_mfu(case, given) == pytest.approx(from_flops(case, as_rate))


def test_conventions_agree_with_stated_times() -> None:
    """Where a source prints both, the FLOP rate in its convention gives its time back."""
    ratios: dict[str, list[float]] = {}
    with accuracy.DATA.open() as file:
        for record in csv.DictReader(file):
            each = row_of(record)
            if not each.tflops_per_gpu or not (each.step_time_s or each.tokens_per_s_per_gpu):
                continue
            if "Bridge" not in each.source and "Table 5" not in each.source:
                continue
            if not each.layers or each.precision == "nvfp4" or each.experts:
                continue
            setup = setup_of(each)
            seconds = measured_seconds(setup.case, each)
            again = from_flops(setup.case, each)
            assert seconds is not None and again is not None
            ratios.setdefault(each.source, []).append(again / seconds)
    middle = {name: float(np.median(found)) for name, found in ratios.items()}
    assert all(ratio == pytest.approx(1, abs=0.005) for ratio in middle.values()), middle
    assert len(ratios) == 2 and len(CONVENTIONS) == 4


def test_open_fields_are_filled_without_the_measurement() -> None:
    left_open = {"mbs": "", "recompute": "", "zero_stage": ""}
    fast, slow = (setup_of(row(**left_open, tflops_per_gpu=rate)) for rate in ("150", "20"))
    assert set(fast.open) == {"micro_batch", "recompute", "recompute_layers", "zero"}
    assert predict(fast).layout == predict(slow).layout
    stated = predict(setup_of(row()))
    assert predict(fast).seconds <= stated.seconds and predict(fast).fits


def test_one_layer_has_no_embedding_head_or_optimizer() -> None:
    alone = {
        "layers": "1",
        "vocab": "",
        "params_b": "",
        "tflops_per_gpu": "",
        "step_time_s": "0.02",
    }
    one = predict(setup_of(row(**alone, gpus="8", tp="8", dp="1", mbs="4", gbs="4")))
    whole = {"layers": "36", "tflops_per_gpu": "", "step_time_s": "0.7"}
    all_of_them = predict(setup_of(row(**whole, gpus="8", tp="8", dp="1", mbs="4", gbs="4")))
    assert 0.7 < 36 * one.seconds / all_of_them.seconds < 1.0
    assert not set(one.time) & {"optimizer", "other", "dp"}


def test_stages_fill_from_the_first_on() -> None:
    assert filled(78, 12) == (7,) * 11 + (1,)
    assert filled(72, 12) == (6,) * 12


def test_micro_batches_that_do_not_divide_the_batch_are_rounded_up() -> None:
    """48 sequences in micro-batches of 11 are four whole ones and a rest."""
    ragged = setup_of(row(gpus="8", tp="8", dp="1", mbs="11", gbs="48"))
    assert ragged.case.train.global_batch == 55 and ragged.share == pytest.approx(48 / 55)
    whole = predict(setup_of(row(gpus="8", tp="8", dp="1", mbs="11", gbs="55")))
    assert predict(ragged).seconds == pytest.approx(whole.seconds * 48 / 55)


@pytest.mark.parametrize(
    ("dp", "stage", "bytes_per_parameter", "beside"),
    [("1", "0", 20, True), ("8", "0", 22, True), ("8", "1", 8 + 12 / 8, False)],
)
def test_nanotron_sums_in_fp32_beside_16_bit_gradients(
    dp: str, stage: str, bytes_per_parameter: float, beside: bool
) -> None:
    """nanotron's optim/gradient_accumulator.py, with DistributedDataParallel's buckets but at ZeRO 1, where
    nothing overlaps (trainer.py)."""
    run = row(
        framework="nanotron",
        tp="1",
        dp=dp,
        gpus=dp,
        mbs="1",
        zero_stage=stage,
        recompute="none",
    )
    setup = setup_of(run)
    state = setup.case.state(int(stage))
    found = (
        state.weights + state.gradients + state.optimizer / (8 if state.optimizer_sharded else 1)
    )
    assert found == bytes_per_parameter
    assert (
        setup.case.traits.overlap.gradient_reduction == beside
        and setup.case.traits.wire.all_reduces(1)
    )


@pytest.mark.parametrize(
    ("framework", "version", "since"),
    [
        ("megatron-lm", "2021-01", ""),
        ("megatron-lm", "2021-04", "2021-02"),
        ("megatron-lm", "2022", "2022-05"),
        ("megatron-lm", "2023-12", "2023"),
        ("megatron-lm", "core_v0.12.1", "2024"),
        ("megatron-lm", "0.19", "2024"),
        ("megatron-lm", "", "2024"),
        ("torchtitan", "2024", ""),
        ("torchtitan", "v0.2.2", "2025-04"),
        ("deepspeed", "2021", ""),
        ("nemo", "v24.11.1", ""),
    ],
)
def test_a_version_chooses_the_newest_entry_that_is_no_newer(
    framework: str, version: str, since: str
) -> None:
    stack = stack_of(row(framework=framework, framework_version=version))
    assert (stack.framework, stack.since) == (framework, since)


def test_entries_of_a_framework_are_oldest_first() -> None:
    for name in {stack.framework for stack in STACKS}:
        dates = [stack.since for stack in STACKS if stack.framework == name]
        assert dates == sorted(set(dates))


def test_source_place_and_notes_decide_no_price() -> None:
    with accuracy.DATA.open(newline="") as file:
        lines = list(csv.DictReader(file))[::60]
    told = {
        "source": "MaxText llm-foundry BigScience",
        "where": "02-27",
        "notes": "DeepSpeed, eager",
    }
    for line in lines:
        try:
            setups = [setup_of(row_of({**line, **change})) for change in ({}, told)]
        except Unusable:
            continue
        assert setups[0].asked == setups[1].asked and setups[0].layout == setups[1].layout


@pytest.mark.parametrize(
    ("change", "slower"),
    [
        ({"norm_kernel": "eager"}, True),
        ({"norm_kernel": "fused"}, None),
        ({"dp_overlap": "1"}, False),
        ({"dp_overlap": "0"}, None),
        ({"tp_overlap": "1"}, False),
        ({"grad_dtype": "fp32"}, True),
        ({"grad_dtype": "fp16"}, None),
        ({"attention": "", "attention_kernel": "megatron-softmax"}, None),
        ({"attention": "flash", "attention_kernel": "fa2"}, False),
        ({"node_gbps": "100"}, True),
        ({"launch_blocking": "1"}, True),
    ],
)
def test_a_column_overrides_one_fact_of_the_framework(
    change: dict[str, str], slower: bool | None
) -> None:
    """None: it says what the framework of the time does anyway."""
    usual, stated = (predict(setup_of(row(**each))).seconds for each in ({}, change))
    assert (stated > usual, stated < usual) == (slower is True, slower is False)


def test_a_graph_leaves_the_host_nothing_to_do() -> None:
    plain, graphed = (predict(setup_of(row(cuda_graph=each))).time for each in ("0", "1"))
    assert plain["host"] > 0 and not graphed.get("host")
    assert graphed["compute"] == plain["compute"]


def test_a_named_part_is_priced_as_itself() -> None:
    h100 = {"gpu": "H100-SXM", "framework": "torchtitan", "attention": "flash", "precision": "bf16"}
    gpu = setup_of(row(**h100, gpu_part="h100_500w_hbm2e")).case.gpu
    assert gpu.drawn == 500 and gpu.memory_bandwidth == 2.4e12


def test_attention_goes_at_the_pace_of_its_kernel() -> None:
    h100 = {"gpu": "H100-SXM", "attention": "flash", "precision": "bf16"}
    cases = [
        setup_of(row(**h100, attention_kernel=kernel)).case
        for kernel in ("triton", "fa2", "te", "fa3")
    ]
    found = [float(attention_core(case, 1, 1, 1)) for case in cases]
    assert found == sorted(found, reverse=True) and found[0] > 2 * found[-1]


def test_a_cut_model_has_neither_the_dense_nor_the_mtp_layers_of_the_whole() -> None:
    open_fields = ("layers", "hidden", "heads", "kv_heads", "ffn_hidden", "gated_mlp", "vocab")
    deepseek = {**dict.fromkeys(open_fields, ""), "model": "DeepSeek-V3", "ep": "1", "mbs": "1"}
    whole, cut = (setup_of(row(**deepseek | {"layers": layers})).case.model for layers in ("", "4"))
    assert (whole.dense_layers, whole.mtp_layers) == (3, 1)
    assert (cut.dense_layers, cut.mtp_layers) == (0, 0)
    stated = setup_of(row(**deepseek | {"layers": "4", "dense_layers": "1", "mtp_layers": "0"}))
    assert (stated.case.model.dense_layers, stated.case.model.mtp_layers) == (1, 0)


def test_an_open_field_has_a_range_around_the_stated_prices() -> None:
    setup = setup_of(row(recompute="", mbs=""))
    assert setup.ranged == ("micro_batch", "recompute", "recompute_layers")
    filled_in = predict(setup)
    low, high = price_range(setup, filled_in.layout) or (0.0, 0.0)
    assert low <= filled_in.seconds <= high and low < high
    assert low <= predict(setup_of(row())).seconds <= high
    assert price_range(setup_of(row()), predict(setup_of(row())).layout) is None


def test_a_framework_that_sets_recompute_leaves_it_open_to_no_row() -> None:
    maxtext = {"framework": "maxtext", "gpu": "H100-SXM", "precision": "bf16", "attention": ""}
    silent, stated = (
        setup_of(row(**maxtext, tp="1", dp="128", recompute=recompute))
        for recompute in ("", "full")
    )
    assert silent.layout == stated.layout and not silent.ranged
    assert 0 < silent.layout["recompute_layers"] < silent.case.model.layers


def test_layers_that_a_recipe_keeps_on_the_host_need_no_room() -> None:
    """Of Llama 3 70B under Megatron-FSDP on racks, whose layers were chosen to just fit."""
    recipe = {
        "framework": "megatron-bridge", "framework_version": "26.02", "model": "Llama-3-70B", "layers": "80",
        "hidden": "8192", "heads": "64", "kv_heads": "8", "ffn_hidden": "28672", "gated_mlp": "1",
        "vocab": "128256", "seq_len": "8192", "gpus": "64", "gpus_per_node": "4", "tp": "1", "dp": "64",
        "mbs": "2", "gbs": "128", "recompute": "none", "precision": "fp8", "attention": "flash",
    }  # fmt: skip
    racks = {
        gpu: predict(setup_of(row(**recipe, gpu=gpu, zero_stage="3", offload_layers=layers)))
        for gpu, layers in (("GB200", "40"), ("GB300", "20"))
    }
    filled_up = [found.bytes / found.capacity for found in racks.values()]
    assert all(0.9 < share < 1.05 for share in filled_up)
    assert racks["GB300"].bytes > 1.3 * racks["GB200"].bytes
    usual = setup_of(row(**recipe, gpu="GB200", zero_stage="1"))
    assert offloaded_share(usual.row) == 0.0
