"""Time of softmax(QK^T)V on one GPU, in one kernel or in several.

Columns, one number per layout: `parts` are the blocks of keys that a rank's queries meet one after the other,
as many as a ring has ranks.
"""

from __future__ import annotations

import numpy as np

from ...dsl.model import Model
from ..algebra import Column
from ..case import Case
from ..model import flops
from .kernels import ALIGNED, TILE, streamed

#: Time of fused attention's backward pass, as a multiple of the forward pass: 2.5 times the FLOP, since it
#: recomputes its scores (Dao 2023,
#: arXiv 2307.08691, 3.1), at 0.78 of the rate (SimuMax, configs/system, 64 and 128 heads: FlashAttention 2 on
#: A100 0.50 of peak for 0.59 forward, cuDNN on B200 0.42 for 0.50).
FLASH_BACKWARD = 3.2
#: Waves of blocks that fused attention loses to load imbalance between cores, forward and backward. This and
#: the next three are fitted to 4,000 kernels on A100, H100, B200 and GB200, forward, of 512 to 16,384 tokens
#: (benchmarks/data/kernels_public.csv); backward to SimuMax's measurements of 4 to 128 heads.
FORWARD_WAVES, BACKWARD_WAVES = 1.1, 0.5
#: Seconds that a query of one head takes on a core beside its products: a block of 128 fills and drains a
#: pipeline and computes the masked half of its diagonal in 2.4 us, on every GPU alike.
QUERY_SECONDS = 19e-9
#: Head width whose products take as long as the exponentials of a score, on a core whose tensor cores do
#: 7.5 TFLOP/s as an H100's; units for exponentials have not grown with tensor cores (FlashAttention-3,
#: arXiv 2407.08608, 3.1).
EXPONENTIAL_WIDTH, EXPONENTIAL_RATE = 44, 7.5e12
#: Seconds beside these of a call of fused attention: it starts several kernels.
ATTENTION_START = 16e-6
#: Width of the heads that `attention_efficiency` is stated for.
HEAD_WIDTH = 128
#: Bytes per score that the dropout of unfused attention moves in either direction: read 2, write 2 and a byte
#: of mask.
DROPOUT_BYTES = 5
#: Share of their rate that products of unfused attention reach where the head width is no multiple of
#: ALIGNED: they run without tensor cores (NVIDIA A100 datasheet, fp32: 19.5 of 312 TFLOP/s). It reproduces
#: four measurements of BigScience, in which steps of one model with 128 heads of 108 in place of 96 of 144
#: take 1.30 to 1.40 times as long (train/tr11-176B-ml/chronicles-prequel.md).
WITHOUT_TENSOR_CORES = 1 / 20


def forward(case: Case, tp: Column, cp: Column, micro_batch: Column, parts: Column) -> Column:
    """Seconds of softmax(QK^T)V, forward."""
    tokens = micro_batch * case.seq_len / cp
    if case.train.attention == "flash":
        return ATTENTION_START + _flash(case, tp, tokens, cp, parts, FORWARD_WAVES)
    return _unfused(case, tokens * case.model.heads / tp, 1, case.traits.kernels.softmax_bytes)


def backward(case: Case, tp: Column, cp: Column, micro_batch: Column, parts: Column) -> Column:
    """Seconds of the gradients of softmax(QK^T)V."""
    tokens = micro_batch * case.seq_len / cp
    if case.train.attention == "flash":
        return ATTENTION_START + FLASH_BACKWARD * _flash(
            case, tp, tokens, cp, parts, BACKWARD_WAVES
        )
    moved = case.traits.kernels.softmax_backward_bytes
    return _unfused(case, tokens * case.model.heads / tp, 2, moved)


def _unfused(case: Case, queries: Column, pairs: int, softmax_bytes: float) -> Column:
    """Seconds of `pairs` pairs of products, and the softmax between, over `queries` queries of one head. The
    masked half is computed too; each product reads or writes its scores in 16 bits."""
    scores = queries * case.seq_len
    rate = case.half_linear_rate * (1.0 if _aligned_heads(case.model) else WITHOUT_TENSOR_CORES)
    products = 2.0 * flops.score_widths(case.model) * scores / rate
    dropped = DROPOUT_BYTES if case.train.dropout else 0
    return pairs * np.maximum(products, 4.0 * scores / case.memory_rate) + streamed(
        case, (softmax_bytes + dropped) * scores
    )


def _aligned_heads(model: Model) -> bool:
    return flops.score_widths(model) % (2 * ALIGNED) == 0


def _flash(
    case: Case, tp: Column, tokens: Column, cp: Column, parts: Column, waves: float
) -> Column:
    """Seconds of fused attention over `tokens` queries of each head, forward, without its start.

    Products over unmasked keys, slower for narrow heads, which are bound by exponentials; QUERY_SECONDS, once
    for each part of a ring; queries, keys, values and output read or written once. A core takes as many
    queries at once as a tile has rows.
    """
    model = case.model
    width = flops.score_widths(model) / 2
    queries = tokens * model.heads / tp
    filled = queries + waves * case.gpu.sms * TILE
    exponentials = EXPONENTIAL_WIDTH * case.half_rate / case.gpu.sms / EXPONENTIAL_RATE
    narrow = (1 + exponentials / width) / (1 + exponentials / HEAD_WIDTH)
    operations = 4.0 * width * flops.keys_seen(model, case.seq_len) * filled * narrow
    blocks = QUERY_SECONDS * parts * queries / case.gpu.sms
    keys = tokens * cp * np.maximum(model.groups / tp, 1.0)
    moved = streamed(case, 4.0 * width * (queries + keys))
    return operations / case.attention_rate + blocks + moved
