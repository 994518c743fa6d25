"""DeepSpeed's optimizer offload needs DeepSpeed's CPU optimizer, and Megatron-DeepSpeed builds a GPU one
unless --cpu-optimizer is given.

Why:
DeepSpeed stops: "You are using ZeRO-Offload with a client provided optimizer".

Bad:
--- ds_config.json
{
  "train_micro_batch_size_per_gpu": 1,
  "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}
}
--- launch.sh
deepspeed --num_nodes 1 --num_gpus 8 pretrain_gpt.py --hidden-size 4096 --num-layers 24 \\
    --no-pipeline-parallel \\
    --deepspeed \\
    --zero-stage 3 --deepspeed_config ds_config.json

Good:
--- launch.sh
deepspeed --num_nodes 1 --num_gpus 8 pretrain_gpt.py --hidden-size 4096 --num-layers 24 \\
    --no-pipeline-parallel \\
    --deepspeed \\
    --zero-stage 3 --deepspeed_config ds_config.json --cpu-optimizer
"""

from collections.abc import Iterator

from ....backends.deepspeed.option_rows import OPTIMIZER
from ....dsl.diagnostics import Severity
from ....reading.facts import text_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint
from ..options.megatron_program import is_old

CODE = "PAR402"
TITLE = "optimizer offload with an optimizer of the GPU"
SEVERITY = "error"
SOURCE = (
    "DeepSpeed 0.19.8 runtime/engine.py; deepspeedai/Megatron-DeepSpeed#298, "
    "bitsandbytes-foundation/bitsandbytes#596"
)
TRAINING = True
FILE = "ds_config.json"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    at = launch.key("zero_optimization.offload_optimizer.device")
    if at is None or text_of(at) not in ("cpu", "nvme"):
        return
    if not launch.kind.involves("megatron"):
        return
    if launch.given("--cpu-optimizer") or _forced_off(launch) or launch.key(OPTIMIZER):
        return
    message = f"offload_optimizer {text_of(at)}, and the script builds an optimizer for the GPU"
    help_text = '--cpu-optimizer, or "zero_force_ds_cpu_optimizer": false'
    severity: Severity | None = "warning" if is_old(launch) else None
    yield Complaint(message, at, help=help_text, severity=severity)


def _forced_off(launch: LaunchedJob) -> bool:
    return text_of(launch.key("zero_force_ds_cpu_optimizer")) == "False"
