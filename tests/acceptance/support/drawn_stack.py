"""Dice for kernels and traffic of the PyTorch targets' blocks: what fits the job, a few at a time."""

from collections.abc import Mapping
from random import Random
from typing import Any

from parc.backends.torchtitan.releases import RELEASES

#: The release of torchtitan that jobs name unless told.
NEWEST_TOML = "0.2.2"
#: Of a setting that fits the job.
SHARE = 0.2
#: Kernels of attention that some GPUs or models lack. Of 0.3.0's, varlen is PyTorch's own on A100 alone:
#: FlashAttention-3 and 4, which later ones take, are packages of their own.
PACKAGED = ("varlen",)
LACKS = {
    "mi300x": ("cudnn", "flex_flash", *PACKAGED),
    "a100_80": ("flex_flash",),
    **dict.fromkeys(("h100_sxm", "h200", "b200", "gb200"), PACKAGED),
    "latent": ("fa2",),
    "latent_experts": ("fa2",),
}

#: What few jobs of torchtitan can say, those that compile or train in fp8, and how many of them do.
SELDOM, RARE = ("tp_overlap", "fp8_recipe"), 2 * SHARE


def torchtitan(
    dice: Random, version: str, kind: str, gpu: str, train: Mapping[str, Any]
) -> list[str]:
    lacking = (*LACKS.get(gpu, ()), *LACKS.get(kind, ()))
    kernels = [each for each in RELEASES[version or NEWEST_TOML].attention if each not in lacking]
    if kind == "sinks":
        kernels = ["flex"]
    drawn = [f"attention_kernel = {dice.choice(kernels)}"] if kernels else []
    drawn.append(f"loss_kernel = {dice.choice(('fused', 'eager'))}")
    if train["compile"] and kind != "sinks":
        drawn.append("tp_overlap = true")
    if train["precision"] == "fp8":
        drawn.append(f"fp8_recipe = {dice.choice(('rowwise', 'rowwise_with_gw_hp'))}")
    if version == "0.3":
        drawn.append(f"cuda_graph = {dice.choice(('true', 'false'))}")
    return [each for each in drawn if dice.random() < (RARE if each.startswith(SELDOM) else SHARE)]


#: What makes attention take a mask, which FlashAttention-2 does not.
MASKED = ("window", "attention_sinks")


def deepspeed(
    dice: Random, version: str, model: Mapping[str, Any], gpu: str, train: Mapping[str, Any]
) -> list[str]:
    drawn = [f"loss_kernel = {dice.choice(('fused', 'eager'))}", "dp_overlap = false"]
    drawn.append(
        f"grad_dtype = {dice.choice(('fp32', 'bf16') if train['precision'] == 'bf16' else ('fp32',))}"
    )
    kernels = [each for each in ("cudnn", "fa2") if each not in LACKS.get(gpu, ())]
    if any(name in model for name in MASKED):
        kernels = [each for each in kernels if each != "fa2"]
    if kernels and train.get("attention") != "unfused":
        drawn.append(f"attention_kernel = {dice.choice(kernels)}")
    if version == "hf":
        drawn.append(f"norm_kernel = {dice.choice(('fused', 'eager'))}")
    if version == "hf" and not model.get("bias"):
        drawn.append("tp_overlap = true")
    return [each for each in drawn if dice.random() < SHARE]
