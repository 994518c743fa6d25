"""Stands in for Megatron-LM's pretrain_gpt.py, which is in no package: it hands a GPT model, its data and its
loss to the `pretrain` of the package, which reads the options, trains, saves and resumes.

Other than Megatron-LM's, every rank of a tensor group reads the batch itself, and no sequence is packed.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from megatron.core.datasets.blended_megatron_dataset_builder import BlendedMegatronDatasetBuilder
from megatron.core.datasets.gpt_dataset import GPTDataset, GPTDatasetConfig
from megatron.core.enums import ModelType
from megatron.core.parallel_state import get_context_parallel_group
from megatron.core.tokenizers.utils.build_tokenizer import build_tokenizer
from megatron.core.utils import get_batch_on_this_cp_rank
from megatron.training import get_args, pretrain
from megatron.training.argument_utils import gpt_config_from_args, pretrain_cfg_container_from_args
from megatron.training.arguments import parse_and_validate_args
from megatron.training.utils import get_blend_and_blend_per_split


def data(samples: list[int], vp_stage: int | None = None) -> Any:
    """Training, validation and test sets of so many samples."""
    args = get_args()
    blend, of_each = get_blend_and_blend_per_split(args)
    config = GPTDatasetConfig(
        random_seed=args.seed,
        sequence_length=args.seq_length,
        blend=blend,
        blend_per_split=of_each,
        split=args.split,
        path_to_cache=args.data_cache_path,
        tokenizer=build_tokenizer(args),
        reset_position_ids=False,
        reset_attention_mask=False,
        eod_mask_loss=False,
        create_attention_mask=False,
    )
    return BlendedMegatronDatasetBuilder(GPTDataset, samples, lambda: True, config).build()


def loss(mask: torch.Tensor, output: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, Any]:
    """Sum over the tokens, their number, and both for the log."""
    total = torch.sum(output.view(-1).float() * mask.view(-1))
    tokens = mask.sum().to(torch.int)
    return total, tokens, {"lm loss": torch.stack([total.detach(), tokens])}


def forward_step(batches: Any, model: Any) -> tuple[Any, Any]:
    group = get_context_parallel_group()
    batch = get_batch_on_this_cp_rank(next(batches), is_hybrid_cp=False, cp_group=group)
    output = model(batch["tokens"], batch["position_ids"], None, labels=batch["labels"])
    return output, partial(loss, batch["loss_mask"])


if __name__ == "__main__":
    built: Any = data
    built.is_distributed = True
    options = parse_and_validate_args()
    whole = pretrain_cfg_container_from_args(options, gpt_config_from_args(options))
    pretrain(whole, built, ModelType.encoder_or_decoder, forward_step)
