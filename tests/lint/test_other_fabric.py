"""Switches of one network beside those of another, and InfiniBand that is switched off."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.linted import Captured, findings

TRAINER = (
    "torchrun --nnodes 1 --nproc_per_node 8 train.py --output_dir out --learning_rate 1e-5 "
    "--per_device_train_batch_size 1 "
)
FOUR_NODES = TRAINER.replace("--nnodes 1", "--nnodes 4 --rdzv_backend c10d") + "\n"
CASES: dict[str, tuple[list[str], dict[str, str]]] = {
    "a switch that sockets leave unread": (
        ["warning"], {"a.sh": "export NCCL_IB_DISABLE=1 NCCL_IB_HCA=mlx5\n" + FOUR_NODES},
    ),
    "InfiniBand's own": (
        [], {"a.sh": "export NCCL_IB_DISABLE=0 NCCL_IB_HCA=mlx5\n" + FOUR_NODES},
    ),
    "sockets of one node": (
        [], {"a.sh": f"export NCCL_IB_DISABLE=1 NCCL_IB_HCA=mlx5\n{TRAINER}\n"},
    ),
    "sockets that a caller may turn off": (
        ["info"],
        {"a.sh": "export NCCL_IB_HCA=mlx5 NCCL_IB_DISABLE=${NCCL_IB_DISABLE:-1}\n" + FOUR_NODES},
    ),
    "two fabrics": (
        ["warning"], {"a.sh": "export FI_PROVIDER=efa NCCL_IB_HCA=mlx5\n" + FOUR_NODES},
    ),
    "EFA without its plug-in": (
        ["warning"], {"a.sh": "export FI_PROVIDER=efa NCCL_IB_DISABLE=1\n" + FOUR_NODES},
    ),
    "EFA with it": (
        [],
        {
            "a.sh": "export FI_PROVIDER=efa NCCL_IB_DISABLE=1 LD_LIBRARY_PATH=/opt/amazon/efa/lib\n"
            + FOUR_NODES,
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_switches_of_another_network(name: str, capsys: Captured) -> None:
    expected, files = CASES[name]
    for path, text in files.items():
        Path(path).write_text(f"#!/bin/bash\n{text}")
    assert [
        each["severity"] for each in findings(capsys, ".") if each["code"] == "PAR703"
    ] == expected


@pytest.mark.parametrize(
    ("cluster", "nodes", "expected"),
    [("std.h100_pod", 4, "error"), ("std.cloud_h100", 4, "info"), ("std.h100_pod", 1, None)],
)
def test_infiniband_that_is_switched_off(
    cluster: str, nodes: int, expected: str | None, capsys: Captured
) -> None:
    """EFA is no InfiniBand: its plug-in is used whatever NCCL_IB_DISABLE says."""
    Path("a.sh").write_text("export NCCL_IB_DISABLE=1\n" + FOUR_NODES.replace("4", str(nodes)))
    said = findings(capsys, ".", "--cluster", cluster)
    assert [each["severity"] for each in said if each["code"] == "PAR808"] == (
        [expected] if expected else []
    )
