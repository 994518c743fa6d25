"""Numbers and names of GPUs, as people, shops and drivers write them -> a cluster of the standard library."""

from __future__ import annotations

import re

import pytest

from parc.dsl import std_cluster
from parc.dsl.diagnostics import JobError
from parc.new_job.gpus import asked_gpus, enough_gpus
from parc.new_job.instances import NODES


@pytest.mark.parametrize(
    ("text", "base", "gpu", "nodes", "per_node"),
    [
        ("64xH100", "dgx_h100", None, 8, 8),
        ("64*h100", "dgx_h100", None, 8, 8),
        ("64 H100", "dgx_h100", None, 8, 8),
        ("4xH100", "dgx_h100", None, 1, 4),
        ("8xA100", "dgx_a100", None, 1, 8),
        ("8xA100-80GB", "dgx_a100", None, 1, 8),
        ("8 x A100-40GB", "dgx_a100", "std.a100_40", 1, 8),
        ("8xV100", "dgx_v100", None, 1, 8),
        ("8xV100-16GB", "dgx_v100", "std.v100_16", 1, 8),
        ("72xGB200", "gb200_nvl72", None, 18, 4),
        ("8xMI325X", "mi300x_node", "std.mi325x", 1, 8),
        ("8xL40S", "cloud_l40s", None, 1, 8),
        ("16xtrainium2", "trn2_node", None, 1, 16),
        ("8xstd.h100_sxm", "dgx_h100", None, 1, 8),
        ("16xcloud_h100", "cloud_h100", None, 2, 8),
        ("8xNVIDIA H100 80GB HBM3", "dgx_h100", None, 1, 8),
        ("8xNVIDIA H100 PCIe", "dgx_h100", "std.h100_pcie", 1, 8),
        ("8xNVIDIA H100 NVL", "dgx_h100", "std.h100_nvl", 1, 8),
        ("8xNVIDIA A100-SXM4-80GB", "dgx_a100", None, 1, 8),
        ("8xNVIDIA A100-PCIE-40GB", "a100_pcie_box", None, 1, 8),
        ("8xNVIDIA A100 80GB PCIe", "a100_pcie_box", "std.a100_pcie_80", 1, 8),
        ("8xTesla V100-SXM2-32GB", "dgx_v100", None, 1, 8),
        ("4xNVIDIA GH200 480GB", "quad_gh200", None, 1, 4),
        ("2x8xB200", "dgx_b200", None, 2, 8),
        ("2x4xH100", "dgx_h100", None, 2, 4),
        ("2 nodes of 8 H100", "dgx_h100", None, 2, 8),
        ("4 nodes h100", "dgx_h100", None, 4, 8),
        ("H100:64", "dgx_h100", None, 8, 8),
        ("h100x8", "dgx_h100", None, 1, 8),
        ("H100 x 64", "dgx_h100", None, 8, 8),
        ("rtx4090x2", "rtx4090_box", None, 1, 2),
        ("H100", "dgx_h100", None, 1, 1),
        ("NVIDIA A100-SXM4-80GB", "dgx_a100", None, 1, 1),
        ("rtx4090", "rtx4090_box", None, 1, 1),
        ("8xRTX5090", "rtx5090_box", None, 1, 8),
        ("4x3090", "rtx3090_box", None, 1, 4),
        ("4090", "rtx4090_box", None, 1, 1),
        ("4xNVIDIA RTX PRO 6000 Blackwell Workstation Edition", "rtx_pro_6000_box", None, 1, 4),
        ("8xA6000", "rtx_a6000_box", None, 1, 8),
        ("8xNVIDIA A10G", "cloud_a10g", None, 1, 8),
        ("A10:4", "rtx_a6000_box", "std.a10", 1, 4),
        ("2xNVIDIA RTX 6000 Ada Generation", "rtx_6000_ada_box", None, 1, 2),
        ("8xL4", "cloud_l4", None, 1, 8),
        ("Tesla T4", "cloud_t4", None, 1, 1),
        ("2xRTX 3090 Ti", "rtx3090_box", "std.rtx3090ti", 1, 2),
        ("NVIDIA GeForce RTX 2080 Ti", "cloud_t4", "std.rtx2080ti", 1, 1),
        ("8xNVIDIA A40", "rtx_a6000_box", "std.a40", 1, 8),
        ("8xAMD Instinct MI300X OAM", "mi300x_node", None, 1, 8),
        ("DGX-H100", "dgx_h100", None, 1, 8),
        ("2 x DGX H100", "dgx_h100", None, 2, 8),
        ("p5.48xlarge", "cloud_h100", None, 1, 8),
        ("8xp5.48xlarge", "cloud_h100", None, 8, 8),
        ("gpu:h100:8", "dgx_h100", None, 1, 8),
        ("GPU_8xH100", "dgx_h100", None, 1, 8),
        ("8 NVIDIA 4090", "rtx4090_box", None, 1, 8),
        ("8 H100s", "dgx_h100", None, 1, 8),
        ("8x4090s", "rtx4090_box", None, 1, 8),
        ("8xL40s", "cloud_l40s", None, 1, 8),
    ],
)
def test_names(text: str, base: str, gpu: str | None, nodes: int, per_node: int) -> None:
    found = asked_gpus(text)
    assert (found.base, found.gpu, found.nodes, found.per_node) == (base, gpu, nodes, per_node)
    assert found.count == nodes * per_node


@pytest.mark.parametrize(
    "text",
    [
        "64",
        "8xRTX6090",
        "8xp4d.24xlarge",
        "0 nodes h100",
        "8xrtx9090",
        "8xh10",
        "8x80",
        "x",
        "",
        "8",
        "0xH100",
        "12xH100",
        "-8xH100",
    ],
)
def test_others_are_refused(text: str) -> None:
    with pytest.raises(JobError) as caught:
        asked_gpus(text)
    assert [each.code for each in caught.value.diagnostics] == ["PAR168"]
    assert caught.value.diagnostics[0].help


@pytest.mark.parametrize("parameters", [1, 8 * 10**9, 70 * 10**9, 10**12])
def test_enough_are_half_full_at_most_and_no_more_than_needed(parameters: int) -> None:
    found = enough_gpus(parameters)
    room = found.count * std_cluster(found.base).gpu.memory
    assert 18 * parameters <= room / 2 and found.assumed
    assert found.nodes == 1 or 18 * parameters > room / 4


@pytest.mark.parametrize(
    ("text", "suggests"),
    [("8xRTX6090", False), ("8xA5000", False), ("8xh10", False), ("8xh20o", True)],
)
def test_another_card_is_not_a_misspelling(text: str, suggests: bool) -> None:
    """An RTX 6090 is not a misspelt RTX 4090, nor an A5000 an A800."""
    with pytest.raises(JobError) as caught:
        asked_gpus(text)
    assert ("did you mean" in (caught.value.diagnostics[0].help or "")) == suggests


@pytest.mark.parametrize(("pattern", "gpus"), NODES)
def test_nodes_of_clouds_are_told_by_their_gpus(pattern: str, gpus: str) -> None:
    """The line that stands in the help works, of one node and of two."""
    name = re.sub(r"\(\?:([\w|]*)\)\??", lambda found: found[1].split("|")[0], pattern)
    name = re.sub(r"\(\[?1?2?4?8\]?\)|\(8\)", "8", name).replace("i?", "").replace("n?", "")
    for times in ("", "2x"):
        with pytest.raises(JobError) as told:
            asked_gpus(times + name.replace("\\", ""))
        line = re.search(r"`([^`]+)`", str(told.value.diagnostics[0].help))
        assert line
        one = gpus.replace("N", "8")
        assert asked_gpus(line[1]).count == int(one.split("x")[0]) * (2 if times else 1)
