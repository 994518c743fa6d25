"""A cloud's name of a node, such as `p4d.24xlarge` -> the GPUs in it, as `parc init --gpus` takes them."""

from __future__ import annotations

import re

#: The GPUs of a node by its name, or the count that its name says as `N`. AWS EC2 instance types (P and G
#: families), Google Cloud's GPU machine types, Azure's ND and NC sizes.
NODES = (
    (r"p3\.16xlarge", "8xV100-16GB"),
    (r"p3dn\.24xlarge", "8xV100-32GB"),
    (r"p4d\.24xlarge", "8xA100-40GB"),
    (r"p4de\.24xlarge", "8xA100-80GB"),
    (r"p5\.4xlarge", "1xH100"),
    (r"p5en?\.48xlarge", "8xH200"),
    (r"p6-b200\.48xlarge", "8xB200"),
    (r"p6-b300\.48xlarge", "8xB300"),
    (r"g5\.(?:2|4|8|16)?xlarge", "1xA10G"),
    (r"g5\.(?:12|24)xlarge", "4xA10G"),
    (r"g6\.(?:2|4|8|16)?xlarge", "1xL4"),
    (r"g6\.(?:12|24)xlarge", "4xL4"),
    (r"g6e\.(?:2|4|8|16)?xlarge", "1xL40S"),
    (r"g6e\.(?:12|24)xlarge", "4xL40S"),
    (r"a2-highgpu-([1248])g", "NxA100-40GB"),
    (r"a2-ultragpu-([1248])g", "NxA100-80GB"),
    (r"a3-(?:high|mega|edge)gpu-([1248])g", "NxH100"),
    (r"a3-ultragpu-(8)g", "NxH200"),
    (r"a4-highgpu-(8)g", "NxB200"),
    (r"nd96asr_(?:a100_)?v4", "8xA100-40GB"),
    (r"nd96amsr_a100_v4", "8xA100-80GB"),
    (r"nd96isr_h100_v5", "8xH100"),
    (r"nd96isr_h200_v5", "8xH200"),
    (r"nc24ads_a100_v4", "1xA100-PCIe-80GB"),
    (r"nc48ads_a100_v4", "2xA100-PCIe-80GB"),
    (r"nc96ads_a100_v4", "4xA100-PCIe-80GB"),
    (r"nc40adi?s_h100_v5", "1xH100-NVL"),
    (r"nc80adi?s_h100_v5", "2xH100-NVL"),
)


def gpus_of_instance(named: str) -> str | None:
    """`8xA100-40GB` of `p4d.24xlarge`; None of a name that is no cloud's node, or whose GPUs are unknown."""
    plain = named.strip().lower().removeprefix("standard_")
    for pattern, gpus in NODES:
        if found := re.fullmatch(pattern, plain):
            return gpus.replace("N", found[1], 1) if found.groups() else gpus
    return None
