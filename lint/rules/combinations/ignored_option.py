"""The option is parsed and then ignored.

Why:
The job trains, but not as its script says. A batch ramp that does not happen changes the loss curve.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --global-batch-size 1024 \\
    --rampup-batch-size 128 128 1000000

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --step-batch-size-schedule "0:128 1B:1024"
"""

from collections.abc import Iterator

from ...facts.launched_job import LaunchedJob
from ...facts.versions import older
from ...finding import Complaint

CODE = "PAR313"
TITLE = "an option that Megatron-LM parses and ignores"
SEVERITY = "info"
OPTIONS = ("--framework-version", "megatron=0.19")
SOURCE = (
    "NVIDIA/Megatron-LM@d98e8a64 megatron/training/global_vars.py, arguments.py; accepted by "
    "the validators of 0.18.0, 0.19.2 and 0.20"
)


#: Option -> the release from which it is ignored, and what to write instead.
IGNORED = {
    "--rampup-batch-size": ("0.18", "--step-batch-size-schedule"),
    "--use-mcore-models": ("0.8", None),
    "--use-dist-ckpt": ("0.9", None),
    "--dist-ckpt-format": ("0.9", "--ckpt-format"),
    "--ckpt-fully-parallel-save": ("0.9", None),
    "--disable-msc": ("0.19", None),
    "--enable-cuda-graph": ("0.17", "--cuda-graph-impl local"),
    "--external-cuda-graph": ("0.17", "--cuda-graph-impl transformer_engine"),
}


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    """Which release runs is not in the script: only a named one makes this a warning."""
    version = launch.versions.get("megatron")
    if not launch.megatron or version is None:
        return
    for name, (since, instead) in IGNORED.items():
        setting = launch.option(name)
        if setting is None or older(version, since):
            continue
        help_text = f"use {instead}" if instead else "remove it"
        message = f"{setting.name} is ignored by Megatron-LM {version}"
        yield Complaint(message, setting, help=help_text, severity="warning")
