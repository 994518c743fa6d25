"""Names of GPUs in tables, drivers and the standard library -> the GPU of the standard library, and its usual
cluster."""

from __future__ import annotations

import re

#: The default cluster of a GPU: its maker's own.
HOME = {
    "v100_16": "dgx_v100", "v100_32": "dgx_v100", "a100_40": "dgx_a100", "a100_80": "dgx_a100",
    "a800": "dgx_a100", "a100_pcie_40": "a100_pcie_box", "a100_pcie_80": "a100_pcie_box",
    "l40s": "cloud_l40s", "gh200": "quad_gh200", "h20": "h20_node",
    "h100_sxm": "dgx_h100", "h100_pcie": "dgx_h100",
    "h200": "dgx_h200", "h800": "h800_pod", "b200": "dgx_b200", "b300": "dgx_b300", "gb200": "gb200_nvl72",
    "gb300": "gb300_nvl72", "mi300x": "mi300x_node", "mi325x": "mi300x_node",
    "mi350x": "mi300x_node", "mi355x": "mi300x_node", "rtx4090": "cloud_l40s", "rtx_a6000": "cloud_l40s",
}  # fmt: skip
#: Names of GPUs in the column `gpu`; of two for one GPU the later is preferred.
GPUS = {
    "V100-16": "v100_16", "V100-32": "v100_32", "A100-40": "a100_40", "A100-80": "a100_80",
    "A100-PCIE-40": "a100_pcie_40", "A100-PCIE-80": "a100_pcie_80", "A800-80": "a800", "L40S": "l40s",
    "GH200": "gh200", "H20": "h20", "H100": "h100_sxm", "H100-SXM": "h100_sxm",
    "H100-PCIE": "h100_pcie", "H200": "h200", "H800": "h800", "B200": "b200", "B300": "b300",
    "GB200": "gb200", "GB300": "gb300", "MI300X": "mi300x", "MI325X": "mi325x", "MI350X": "mi350x",
    "MI355X": "mi355x", "RTX4090": "rtx4090", "RTX-A6000": "rtx_a6000",
}  # fmt: skip
#: What else a name may say of a GPU that comes with one memory, a superchip's host memory among it; and words
#: that tell no two apart.
ONE_MEMORY = (
    "A800-80",
    "L40S-48",
    "GH200-96",
    "GH200-120",
    "GH200-480",
    "H20-96",
    "H100-80",
    "H100-PCIE-80",
    "H200-141",
    "H800-80",
    "MI300X-192",
    "MI325X-256",
    "MI350X-288",
    "MI355X-288",
)
IDLE_WORDS = {"NVIDIA", "TESLA", "AMD", "INSTINCT", "OAM", "SXM", "SXM2", "SXM4", "SXM5"}


def words_of(name: str) -> frozenset[str]:
    """The words of a GPU's name that matter, in any order."""
    plain = re.sub(r"(?<=\d) ?GB\b|\bHBM\w*", " ", name.upper())
    return frozenset(re.findall(r"[A-Z0-9]+", plain)) - IDLE_WORDS


def _names() -> dict[frozenset[str], str]:
    names = {words_of(name): name for name in GPUS}
    for name in ONE_MEMORY:
        short = words_of(name.rpartition("-")[0])
        names |= {words_of(name): names.get(short, name), short: names.get(short, name)}
    return names


NAMES = _names()


def gpu_named(text: str) -> str | None:
    """The name in `GPUS` of what a table, a driver or the standard library calls a GPU; None for others."""
    return NAMES.get(words_of(text))


def gpus_like(text: str) -> list[str]:
    """The names that say all that `text` says, and more."""
    said = words_of(text)
    return sorted({name for words, name in NAMES.items() if said and said < words})
