"""A node -> a process of the probe for each of its GPUs; all end when one fails."""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

from .ranks import Failed


def start(arguments: argparse.Namespace, words: Sequence[str]) -> int:
    """Starts a process for each GPU of this node, and ends them all when one fails.

    Of several nodes SLURM_NODEID or NODE_RANK is the number of this one, and MASTER_ADDR and MASTER_PORT are
    those of the first.
    """
    here = _processes(arguments)
    node = 0
    common = {"WORLD_SIZE": str(arguments.nodes * here), "LOCAL_WORLD_SIZE": str(here)}
    if arguments.nodes > 1:
        node = int(os.environ.get("SLURM_NODEID") or os.environ.get("NODE_RANK") or 0)
    else:
        common |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port())}
    command = [sys.executable, os.path.abspath(__file__), *words]
    running = {
        local: subprocess.Popen(
            command,
            env={"OMP_NUM_THREADS": "1", **os.environ, **common}
            | {"RANK": str(node * here + local), "LOCAL_RANK": str(local)},
        )
        for local in range(here)
    }
    try:
        return _watch(running, node * here)
    finally:
        for process in running.values():
            process.kill()
            process.wait()


def _watch(running: dict[int, Any], first: int) -> int:
    parent = os.environ.get("PROBE_PARENT")
    while True:
        if parent and os.getppid() != int(parent):
            raise Failed("what started it has ended")
        ended = {local: process.poll() for local, process in running.items()}
        failed = {local: status for local, status in ended.items() if status}
        if failed:
            # One that was killed takes the others' connections with it, which then fail too.
            local = min(failed, key=lambda each: (failed[each] > 0, each))
            message = f"rank {first + local} ended with status {failed[local]}"
            raise Failed(f"{message}; started again, it goes on")
        if all(status == 0 for status in ended.values()):
            return 0
        time.sleep(0.2)


def _processes(arguments: argparse.Namespace) -> int:
    if arguments.cpu:
        return int(arguments.procs or 1)
    import torch

    here = torch.cuda.device_count()
    if not here:
        raise Failed("PyTorch finds no GPU; --cpu tries the probe without")
    if arguments.procs and here != arguments.procs:
        raise Failed(
            f"{arguments.procs} GPUs are expected and PyTorch finds {here}: nvidia-smi may say which is dead"
        )
    return int(here)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
