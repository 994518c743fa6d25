"""Recorded launches of pretrain_gpt.py -> what Megatron-LM's own code makes of them, without a GPU.

A case holds `arguments`, `environment`, `world`, `capability` and `build`. The stages are a real start's:
arguments, validation, micro-batches, configurations, process groups of the first and the last rank, what the
schedule checks before its first micro-batch, and for `build` every pipeline stage on the meta device. With
`walk` the answer has rate and batch of every step too; where `starts` is false the configurations are the
last stage.
"""

from __future__ import annotations

import copy
import dataclasses
import os
import sys
import types
from typing import Any
from unittest.mock import patch

import forked
import megatron_stand_ins as stand_ins

stand_ins.before_import()

import torch  # noqa: E402
from megatron.core import num_microbatches_calculator as micro_batches  # noqa: E402
from megatron.core import parallel_state, tensor_parallel  # noqa: E402
from megatron.core.distributed import DistributedDataParallelConfig  # noqa: E402
from megatron.core.models.backends import LocalSpecProvider  # noqa: E402
from megatron.core.models.gpt import GPTModel  # noqa: E402
from megatron.core.models.gpt import gpt_layer_specs as specs  # noqa: E402
from megatron.core.pipeline_parallel import schedules  # noqa: E402
from megatron.core.transformer import multi_latent_attention  # noqa: E402
from megatron.training import arguments as megatron_arguments  # noqa: E402
from megatron.training import global_vars, initialize, training  # noqa: E402
from torch.testing._internal.distributed.fake_pg import FakeStore  # noqa: E402


class NoProduct(torch.nn.Module):
    """Stands where the attention product is, whose parameters are the sinks of the heads."""

    def __init__(self, config: Any, *arguments: Any, **named: Any) -> None:
        super().__init__()
        if getattr(config, "softmax_type", None) == "learnable":
            heads = config.num_attention_heads // config.tensor_model_parallel_size
            self.softmax_offset = torch.nn.Parameter(torch.empty(heads))


class Whole(torch.nn.Module):
    """Transformer Engine's linear layer as latent attention asks for it: the same on every rank."""

    def __init__(self, inputs: int, outputs: int, **named: Any) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(outputs, inputs))


stand_ins.after_import()
multi_latent_attention.TELinear = Whole
LocalSpecProvider.core_attention = lambda self: NoProduct

GROUPS = {
    "tp": parallel_state.get_tensor_model_parallel_world_size,
    "pp": parallel_state.get_pipeline_model_parallel_world_size,
    "cp": parallel_state.get_context_parallel_world_size,
    "dp": parallel_state.get_data_parallel_world_size,
    "ep": parallel_state.get_expert_model_parallel_world_size,
    "etp": parallel_state.get_expert_tensor_parallel_world_size,
    "expert_dp": parallel_state.get_expert_data_parallel_world_size,
}


def check(case: dict[str, Any], answer: forked.Answer) -> None:
    args = _validated(case, answer)
    answer["stage"] = "micro-batches"
    _set_globals(args)
    answer["microbatches"] = micro_batches.get_num_microbatches()
    answer["stage"] = "configurations"
    config = megatron_arguments.core_transformer_config_from_args(args)
    answer["stack"] = _stack(config, _others(args))
    if case.get("walk"):
        answer["stage"] = "walk"
        answer |= _walked(args)
    if not case.get("starts", True):
        answer["stage"] = "steps"
        training.update_train_iters(args)  # as the scheduler of rates does, once
        answer["stage"] = "accepted"
        return
    answer["stage"] = "groups"
    answer["groups"] = [_groups(args, rank) for rank in dict.fromkeys((args.world_size - 1, 0))]
    answer["stage"] = "schedule"
    _split_sequence(args)
    _begin_schedule(args, config, answer["microbatches"])
    if case["build"]:
        answer["stage"] = "build"
        answer["stages"] = [_stage(args, rank) for rank in range(args.pipeline_model_parallel_size)]
    answer["stage"] = "accepted"


def _others(args: Any) -> Any:
    """The optimizer's configuration, and that of data-parallel traffic, which is returned; older ones make
    them while they make the model."""
    if hasattr(training, "get_megatron_optimizer_config"):
        training.get_megatron_optimizer_config(args)
    else:
        _of_arguments(training.OptimizerConfig, args)
    if hasattr(training, "get_megatron_ddp_config"):
        return training.get_megatron_ddp_config(args)
    # The arguments' name of it until then (core_v0.14.0 training.py, get_model).
    args.grad_reduce_in_fp32 = args.accumulate_allreduce_grads_in_fp32
    return _of_arguments(DistributedDataParallelConfig, args)


def _of_arguments(kind: Any, args: Any) -> Any:
    names = [field.name for field in dataclasses.fields(kind) if hasattr(args, field.name)]
    return kind(**{name: getattr(args, name) for name in names})


def _context(config: Any) -> list[Any] | None:
    """The exchange of context parallelism, and the sizes of its groups."""
    if config.context_parallel_size == 1:
        return None
    return [config.cp_comm_type, config.hierarchical_context_parallel_sizes]


def _stack(config: Any, traffic: Any) -> dict[str, Any]:
    """Kernels and traffic as Megatron-LM's own configurations have them."""
    return {
        "attention": config.attention_backend.name,
        "flash": getattr(config, "flash_attention_version", None),
        "fused_loss": config.cross_entropy_loss_fusion,
        "fp8": config.fp8 and [str(config.fp8), str(config.fp8_recipe)],
        "fp4": getattr(config, "fp4", None) and [str(config.fp4), str(config.fp4_recipe)],
        "dispatcher": [
            config.moe_token_dispatcher_type,
            getattr(config, "moe_flex_dispatcher_backend", None),
        ],
        "context": _context(config),
        "fp8_params": traffic.fp8_param_gather and config.fp8_param,
        "graph": getattr(config, "cuda_graph_impl", "none"),
        "tp_overlap": config.tp_comm_overlap,
        "dp_overlap": traffic.overlap_grad_reduce,
        "fp32_gradients": traffic.grad_reduce_in_fp32,
    }


def _validated(case: dict[str, Any], answer: forked.Answer) -> Any:
    """The arguments as a rank of the real world would hold them."""
    for name in [name for name in os.environ if name.startswith(("CUDA_", "NCCL_", "NVTE_"))]:
        del os.environ[name]
    os.environ.update(case["environment"])
    os.environ.update(WORLD_SIZE=str(case["world"]), RANK="0", LOCAL_RANK="0")
    stand_ins.gpu(*case["capability"])
    sys.argv = ["pretrain_gpt.py", *case["arguments"]]
    answer["stage"] = "arguments"
    args = megatron_arguments.parse_args()
    answer["stage"] = "validation"
    megatron_arguments.validate_args(args, {"tokenizer_type": "GPT2BPETokenizer"})
    return args


def _set_globals(args: Any) -> None:
    """As the first rank, and what the last one opens to report: Weights & Biases, without its package."""
    wandb = types.SimpleNamespace(init=lambda **named: None)
    with patch.dict(sys.modules, wandb=wandb), patch.object(global_vars.os, "makedirs"):
        global_vars.set_global_variables(args, args.tokenizer_type == "NullTokenizer")
        if args.world_size > 1:
            last = copy.copy(args)
            last.rank = args.world_size - 1
            global_vars._set_wandb_writer(last)


def _walked(args: Any) -> dict[str, list[float]]:
    """The learning rate and the batch of every step of the run, as training.py sets them."""
    group = {"lr": 0.0, "weight_decay": 0.0, "params": []}
    scheduler = training.get_optimizer_param_scheduler(types.SimpleNamespace(param_groups=[group]))
    rates, batches, consumed = [], [], 0
    for _ in range(args.train_iters):
        micro_batches.update_num_microbatches(consumed, consistency_check=True)
        batch = (
            micro_batches.get_num_microbatches() * args.micro_batch_size * args.data_parallel_size
        )
        rates.append(group["lr"])
        batches.append(batch)
        scheduler.step(increment=batch)
        consumed += batch
    return {"rates": rates, "batches": batches}


def _groups(args: Any, rank: int) -> dict[str, int]:
    """Degrees as that rank finds them after Megatron-LM has made its groups."""
    if torch.distributed.is_initialized():
        parallel_state.destroy_model_parallel()
        torch.distributed.destroy_process_group()
    torch.distributed.init_process_group(
        "fake", store=FakeStore(), rank=rank, world_size=args.world_size
    )
    # Its name before 0.16 and after.
    args.enable_gloo_process_groups = args.use_gloo_process_groups = False
    initialize._initialize_distributed(None, None, None)
    found = {name: size() for name, size in GROUPS.items()}
    return {"rank": rank, "stage": parallel_state.get_pipeline_model_parallel_rank(), **found}


def _split_sequence(args: Any) -> None:
    """Sequence parallelism's own split of a rank's part of a sequence."""
    if args.sequence_parallel:
        part = torch.empty(args.seq_length // args.context_parallel_size, 1, 1, device="meta")
        tensor_parallel.mappings._split_along_first_dim(
            part, parallel_state.get_tensor_model_parallel_group()
        )


class _Begun(Exception):
    """Raised by the first forward step."""


def _begin_schedule(args: Any, config: Any, count: int) -> None:
    """Runs the interleaved schedule up to its first forward step: what it refuses, it refuses before."""
    chunks = args.virtual_pipeline_model_parallel_size
    if chunks is None:
        return

    def forward_step(*arguments: Any, **how: Any) -> None:
        raise _Begun

    config.pipeline_dtype = config.params_dtype
    parts = [torch.nn.Module() for _ in range(chunks)]
    for part in parts:
        part.config, part.model_type = config, None
        part.set_input_tensor = lambda tensor: None
        part.build_schedule_plan = forward_step
    try:
        with stand_ins.WithoutGpu("cpu"):
            schedules.forward_backward_pipelining_with_interleaving(
                forward_step_func=forward_step,
                data_iterator=[iter(())] * chunks,
                model=parts,
                num_microbatches=count,
                seq_length=args.seq_length,
                micro_batch_size=args.micro_batch_size,
            )
    except _Begun:
        pass


def _stage(args: Any, rank: int) -> dict[str, Any]:
    """Layers of each virtual chunk and parameters of one pipeline rank, in its first tensor-parallel rank."""
    _groups(args, rank * args.world_size // args.pipeline_model_parallel_size)
    chunks = args.virtual_pipeline_model_parallel_size or 1
    last = args.pipeline_model_parallel_size - 1
    layers, total = [], 0
    for chunk in range(chunks):
        first, final = rank == chunk == 0, rank == last and chunk == chunks - 1
        model = _model(_buildable(args), chunk if chunks > 1 else None, first, final)
        layers.append(len(model.decoder.layers))
        total += sum(parameter.numel() for parameter in model.parameters())
    return {"layers": layers, "parameters": total}


def _buildable(args: Any) -> Any:
    """The same shapes without Transformer Engine: what its modules alone take is switched off."""
    changed = copy.copy(args)
    changed.transformer_impl = "local"
    changed.gradient_accumulation_fusion = False
    changed.fp8 = changed.fp4 = None
    changed.moe_token_dispatcher_type = "alltoall"
    changed.fp8_param_gather = changed.reuse_grad_buf_for_mxfp8_param_ag = False
    changed.moe_router_padding_for_quantization = changed.moe_router_padding_for_fp8 = False
    changed.tp_comm_overlap = changed.moe_grouped_gemm = changed.moe_permute_fusion = False
    # Experts one after another have no moe_act.
    modules = [each for each in args.recompute_modules or () if each != "moe_act"]
    changed.recompute_modules = modules or None
    changed.use_cpu_initialization, changed.perform_initialization = True, False
    changed.no_persist_layer_norm = True
    changed.context_parallel_size = 1
    return changed


def _model(args: Any, chunk: int | None, first: bool, final: bool) -> Any:
    config = megatron_arguments.core_transformer_config_from_args(args)
    config.init_model_with_meta_device = False
    # Afterwards: experts over tp are refused without it.
    config.sequence_parallel = False
    if args.num_experts:
        spec = specs.get_gpt_decoder_block_spec(
            config, use_transformer_engine=False, normalization=args.normalization, vp_stage=chunk
        )
    else:
        spec = _layer(args)
    for layer in getattr(spec, "layer_specs", [spec]):
        _as_in_transformer_engine(args, layer.submodules.self_attention.submodules)
    with torch.device("meta"), stand_ins.WithoutGpu("meta"):
        return GPTModel(
            config,
            spec,
            vocab_size=args.padded_vocab_size,
            max_sequence_length=args.max_position_embeddings,
            pre_process=first,
            post_process=final,
            share_embeddings_and_output_weights=not args.untie_embeddings_and_output_weights,
            position_embedding_type=args.position_embedding_type,
            rotary_base=args.rotary_base,
            mtp_block_spec=_prediction(args, config, spec, chunk),
            vp_stage=chunk,
        )


def _layer(args: Any) -> Any:
    """A layer by itself, with experts where the model has them."""
    return specs.get_gpt_layer_local_spec(
        args.num_experts,
        bool(args.num_experts and args.moe_grouped_gemm),
        args.qk_layernorm,
        args.multi_latent_attention,
        normalization=args.normalization,
    )


def _as_in_transformer_engine(args: Any, attention: Any) -> None:
    """Latent attention's down-projections are whole on every rank."""
    if args.multi_latent_attention:
        attention.linear_q_down_proj = attention.linear_kv_down_proj = Whole


def _prediction(args: Any, config: Any, spec: Any, chunk: int | None) -> Any:
    """Layers of multi-token prediction, of the kind of the model's last, which may be on another stage."""
    if config.mtp_num_layers is None:
        return None
    last = spec
    if not hasattr(specs, "get_gpt_decoder_layer_specs"):
        layers = getattr(spec, "layer_specs", [spec])
        last = layers[-1] if layers else _layer(args)
        _as_in_transformer_engine(args, last.submodules.self_attention.submodules)
    elif hasattr(spec, "layer_specs"):
        last = specs.get_gpt_decoder_layer_specs(config, False, args.normalization, vp_stage=chunk)[
            -1
        ]
        _as_in_transformer_engine(args, last.submodules.self_attention.submodules)
    return specs.get_gpt_mtp_block_spec(config, last, False, vp_stage=chunk)


if __name__ == "__main__":
    forked.main(check)
