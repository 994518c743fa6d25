"""What differs between the releases of torchtitan that parc writes for, by `version` of the target."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dsl.job import Job
from .models import Family
from .options import options_of
from .schema import PYTHON_SECTIONS, SECTIONS, Kinds


@dataclass(frozen=True)
class Release:
    """`sequence` is what a sequence must be a multiple of, at given tp and cp. `attention` are the kernels
    that a job may choose between, the release's own first. `graphs`: CUDA graphs, on by default.
    """

    name: str
    sections: Kinds
    families: frozenset[Family]
    pipelined: frozenset[Family]
    precisions: tuple[str, ...]
    sequence: Callable[[Any, Any], Any]
    tied_shards: bool
    tied_stages: bool
    selective_experts: bool
    experts_by_width: bool
    attention: tuple[str, ...]
    graphs: bool


RELEASES = {
    "0.2.2": Release(
        name="0.2.2",
        sections=SECTIONS,
        families=frozenset({"llama3", "qwen3", "deepseek_v3", "gpt_oss"}),
        # models/qwen3/__init__.py:199, models/gpt_oss/__init__.py:85 give no pipelining function.
        pipelined=frozenset({"llama3", "deepseek_v3"}),
        precisions=("bf16", "fp8", "mxfp8"),
        # models/llama3/infra/parallelize.py:70: even without context parallelism.
        sequence=lambda tp, cp: tp * 2 * cp,
        # models/llama4/infra/parallelize.py apply_fsdp wraps embedding and output apart.
        tied_shards=False,
        tied_stages=True,
        # Experts have shards of their own there, gathered ahead by the blocks before: torch 2.13's
        # checkpoint.py:1453 then counts other profiler events in the backward pass.
        selective_experts=False,
        experts_by_width=False,
        # models/attention.py:167 asks for cuDNN, then FlashAttention; `flex` is attn_type of the model.
        attention=("cudnn", "fa2", "flex"),
        graphs=False,
    ),
    "0.3": Release(
        name="0.3.0",
        sections=PYTHON_SECTIONS,
        families=frozenset({"llama3", "qwen3"}),
        pipelined=frozenset({"llama3", "qwen3"}),
        precisions=("bf16",),
        # trainer.py:312, blocks of 128 tokens that FlexAttention divides over cp, and the 8 parts in which
        # the loss takes it (components/loss.py:671).
        sequence=lambda tp, cp: np.where(cp > 1, np.lcm(tp * 2 * cp, 128 * cp), np.lcm(tp, 8)),
        tied_shards=True,
        # models/common/decoder.py:141.
        tied_stages=False,
        selective_experts=True,
        # distributed/fsdp.py:196 compares the experts with the whole dense mesh, tp and replicas included.
        experts_by_width=True,
        # models/common/config_utils.py:71; the presets take flex.
        attention=("flex", "flex_flash", "varlen"),
        graphs=True,
    ),
}


def release(job: Job) -> Release:
    return RELEASES[options_of(job).version]
