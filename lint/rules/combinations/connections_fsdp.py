"""FSDP overlaps its gathers with computation only when CUDA_DEVICE_MAX_CONNECTIONS is unset or above 1; the
exchange of experts, `--overlap-moe-expert-parallel-comm`, does so, too.

Why:
Megatron-LM asserts it of FSDP and warns of the exchange; torchtitan and others run slowly without a word. The
setting is often copied from a script for tensor parallelism.

Bad:
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 pretrain_gpt.py --use-megatron-fsdp --ckpt-format fsdp_dtensor

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --use-megatron-fsdp --ckpt-format fsdp_dtensor
"""

from collections.abc import Iterator

from ....backends.megatron.option_groups import EXCHANGE, FSDP_SWITCHES
from ....compiler.target import Effect
from ....dsl.diagnostics import Severity
from ....reading.facts import text_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related
from .connections_missing import NAME_OF_VARIABLE

CODE = "PAR305"
TITLE = "FSDP with CUDA_DEVICE_MAX_CONNECTIONS=1"
SEVERITY = "error"
STOPS = "megatron"
SOURCE = (
    "NVIDIA/Megatron-LM@d98e8a64 megatron/training/arguments.py:1049, :1144; "
    "verl-project/verl#6976"
)


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    at = launch.setting("environment", NAME_OF_VARIABLE)
    fsdp = launch.option(*FSDP_SWITCHES)
    if at is None or text_of(at) != "1":
        return
    message = f"FSDP with {NAME_OF_VARIABLE}=1: gathers cannot overlap the computation"
    if fsdp is not None:
        yield Complaint(message, at, (Related(fsdp.name, fsdp),), f"unset {NAME_OF_VARIABLE}")
    elif (exchange := launch.option(EXCHANGE)) is not None:
        # Under tp or cp Megatron-LM leaves the choice, 1 or 32, to whoever measures (arguments.py:1466).
        wide = any((launch.number(name) or 1) > 1 for name in ("tp", "cp"))
        message = (
            f"{NAME_OF_VARIABLE}=1: the exchange of experts waits in line with the computation"
        )
        cure = f"{NAME_OF_VARIABLE}=32, or try both" if wide else f"unset {NAME_OF_VARIABLE}"
        related = (Related(exchange.name, exchange),)
        severity: Severity = "info" if wide else "warning"
        yield Complaint(message, at, related, cure, severity, effect=Effect.WORSE)
    elif launch.framework == "torchtitan":
        yield Complaint(message, at, help=f"unset {NAME_OF_VARIABLE}", severity="warning")
