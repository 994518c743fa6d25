"""Differences between the releases of torchtitan that parc writes for, by `version` of the target.

Which settings a release knows is the table of its own configuration (`released_options.csv`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

from ...dsl.arrays import np
from ...dsl.job import Job
from .options import options_of
from .schema import Kinds, sections

Family = Literal["llama3", "qwen3", "deepseek_v3", "gpt_oss"]


@dataclass(frozen=True)
class DataModules:
    """Where the release keeps its data sets: a package with DatasetConfig, its module with DATASETS, there
    the class that packs texts and the function that makes the validator's loader.

    `workers`: whether [training.dataloader] configures the loader.
    """

    package: str
    module: str
    texts: str
    validation: str
    workers: bool


@dataclass(frozen=True, kw_only=True)
class Release:
    """Capabilities of a release.

    `python`: its configuration is Python, not TOML. `pipelined`, `divided` and `flex_divided` are the models
    that it pipelines, divides along sequences, and does so with FlexAttention. `rope` are the scalings of a
    model's positions. `sequence` is what a sequence must be a multiple of, at given tp and cp. `attention`
    are the kernels that a job may choose between, the release's own first. `graphs`: CUDA graphs, on by
    default. `experts_over_cp`: ep is a multiple of cp too. `experts_need_tp`: models whose ep is above 1 only
    with tp. `mxfp8` are AMD's chips that it trains on. `flex` is the argument of a model that takes
    FlexAttention; `flex_selective`: selective recomputation keeps its output; `flex_evaluated`: the validator
    gives it its mask. `halved_passes`: backward passes that are divided in two give all gradients.
    `repeated_keys`: keys and values are copied for every query head. `rotates`: training takes the method by
    which keys and values travel. `seed`: its section.

    Emitted files repair `summed_losses`, a pipeline's gradients are sums over tokens; `kept_outputs`, a
    pipeline keeps the logits of a step; `repeated_attention`, selective recomputation repeats cuDNN's.
    """

    name: str
    sections: Kinds
    families: frozenset[Family]
    pipelined: frozenset[Family]
    divided: frozenset[Family]
    flex_divided: frozenset[Family]
    rope: Mapping[Family, frozenset[str]]
    precisions: tuple[str, ...]
    sequence: Callable[[Any, Any], Any]
    attention: tuple[str, ...]
    python: bool = False
    graphs: bool = False
    tied: bool = True
    tied_shards: bool = False
    tied_stages: bool = True
    router_groups: bool = True
    selective_experts: bool = False
    experts_by_width: bool = False
    experts_over_cp: bool = False
    experts_need_tp: frozenset[Family] = frozenset()
    mxfp8: tuple[str, ...] = ("gfx950",)
    flex: tuple[str, object] = ("attn_type", "flex")
    flex_selective: bool = True
    flex_evaluated: bool = True
    halved_passes: bool = True
    summed_losses: bool = False
    kept_outputs: bool = False
    repeated_attention: bool = False
    repeated_keys: bool = False
    rotates: bool = False
    seed: str = "debug"
    data: DataModules = DataModules(
        "torchtitan.hf_datasets",
        "torchtitan.hf_datasets.text_datasets",
        "HuggingFaceTextDataset",
        "build_text_validation_dataloader",
        workers=True,
    )


def _families(*names: Family) -> frozenset[Family]:
    return frozenset(names)


_TOML = Release(
    name="0.2.2",
    sections=sections("0.2.2"),
    families=_families("llama3", "qwen3", "deepseek_v3", "gpt_oss"),
    # models/qwen3/__init__.py:199, models/gpt_oss/__init__.py:85 give no pipelining function.
    pipelined=_families("llama3", "deepseek_v3"),
    # models/gpt_oss/model/args.py:89: not gpt_oss.
    divided=_families("llama3", "qwen3", "deepseek_v3"),
    # models/qwen3/infra/parallelize.py:70, models/deepseek_v3/infra/parallelize.py:68
    flex_divided=_families("llama3"),
    # qwen3 takes llama3's cache of angles, in the emitted model.
    rope=MappingProxyType(
        {
            "llama3": frozenset({"rope_llama3"}),
            "qwen3": frozenset({"rope_llama3"}),
            "deepseek_v3": frozenset({"rope_yarn"}),
            "gpt_oss": frozenset({"rope_yarn"}),
        }
    ),
    precisions=("bf16", "fp8", "mxfp8"),
    # models/llama3/infra/parallelize.py:70: even without context parallelism.
    sequence=lambda tp, cp: tp * 2 * cp,
    # models/attention.py:167 asks for cuDNN, then FlashAttention; `flex` is attn_type of the model.
    attention=("cudnn", "fa2", "flex"),
    # models/llama4/infra/parallelize.py apply_fsdp wraps embedding and output apart.
    tied_shards=False,
    # Experts have shards of their own there, gathered ahead by the blocks before: torch 2.13's
    # checkpoint.py:1453 then counts other profiler events in the backward pass.
    selective_experts=False,
    # train.py:523
    summed_losses=True,
)
_SECOND = replace(
    _TOML,
    name="0.2.1",
    sections=sections("0.2.1"),
    families=_families("llama3", "qwen3", "deepseek_v3"),
    # train.py:488 divides `freqs_cis` with the tokens, and qwen3 keeps its angles in `rope_cache`: each rank
    # would count positions from 0.
    divided=_families("llama3", "deepseek_v3"),
    # models/llama3/model/args.py:57
    flex_divided=_families(),
    # models/qwen3/infra/parallelize.py:179 ties them on the meta device; train.py:258 makes them apart.
    tied=False,
    # models/qwen3/infra/parallelize.py:105 asks for the mesh of tp, which there is above 1 alone.
    experts_need_tp=_families("qwen3"),
    # components/quantization/mx.py:42
    mxfp8=(),
    # components/validate.py:166 calls the model without masks.
    flex_evaluated=False,
    # components/loss.py:19 takes the mean, and distributed/pipeline_parallel.py:208 divides by micro-batches.
    summed_losses=False,
    # models/llama3/model/model.py:273, models/qwen3/model/model.py:264
    repeated_keys=True,
    # train.py:502; 0.2.2 tells PyTorch in evaluation alone (components/validate.py:213).
    rotates=True,
)
_FIRST = replace(
    _SECOND,
    name="0.2.0",
    sections=sections("0.2.0"),
    # models/moe/moe.py:19, MoEArgs
    router_groups=False,
    # distributed/parallel_dims.py:64
    experts_over_cp=True,
    experts_need_tp=_families(),
    # models/llama3/model/args.py:46
    flex=("use_flex_attn", True),
    # distributed/activation_checkpoint.py:252 repeats all of its attention.
    flex_selective=False,
    # train.py:456 lets PyTorch's schedule return its outputs.
    kept_outputs=True,
    # models/*/infra/parallelize.py, _op_sac_save_list: the kernels without cuDNN's.
    repeated_attention=True,
    # config/job_config.py:256
    seed="training",
    data=DataModules(
        "torchtitan.datasets",
        "torchtitan.datasets.hf_datasets",
        "HuggingFaceDataset",
        "build_hf_validation_dataloader",
        workers=False,
    ),
)
_PYTHON = Release(
    name="0.3.0",
    sections=sections("0.3"),
    python=True,
    families=_families("llama3", "qwen3"),
    pipelined=_families("llama3", "qwen3"),
    divided=_families("llama3", "qwen3"),
    flex_divided=_families("llama3", "qwen3"),
    # CosSinRoPE, which qwen3 has, knows no Llama scaling (models/common/rope.py:285). Other models are
    # refused as a whole.
    rope=MappingProxyType(
        {
            "llama3": frozenset({"rope_llama3"}),
            "deepseek_v3": frozenset({"rope_yarn"}),
            "gpt_oss": frozenset({"rope_yarn"}),
        }
    ),
    precisions=("bf16",),
    # trainer.py:312, blocks of 128 tokens that FlexAttention divides over cp, and the 8 parts in which
    # the loss takes it (components/loss.py:671).
    sequence=lambda tp, cp: np.where(cp > 1, np.lcm(tp * 2 * cp, 128 * cp), np.lcm(tp, 8)),
    # models/common/config_utils.py:71; the presets take flex.
    attention=("flex", "flex_flash", "varlen"),
    graphs=True,
    # Of a tiny llama3 on CPU a step's gradient norm is 0.26 % smaller than in any other order.
    halved_passes=False,
    tied_shards=True,
    # models/common/decoder.py:141.
    tied_stages=False,
    selective_experts=True,
    # distributed/fsdp.py:196 compares the experts with the whole dense mesh, tp and replicas included.
    experts_by_width=True,
)
#: By `version` of the target, oldest first.
RELEASES = MappingProxyType(
    {"0.2.0": _FIRST, "0.2.1": _SECOND, "0.2.2": _TOML, "0.3": _PYTHON},
)


def release(job: Job) -> Release:
    return RELEASES[options_of(job).version]


def since(able: Callable[[Release], bool], verb: str = "has") -> str:
    """The end of a message: the first release that is able to do what the job's is not."""
    first = next(each.name for each in RELEASES.values() if able(each))
    return f"{first} is the first that {verb}"
