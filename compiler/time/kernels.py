"""Time of single kernels: seconds of a matrix product by its shape, of elementwise kernels by their bytes.

Arguments and results are columns, one number per layout. Roofline (Williams et al. 2009): a kernel takes the
longer of its FLOP at the reachable rate and its bytes at the reachable bandwidth.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..algebra import Column
from ..case import Case

#: Rows of a tile of a matrix product.
TILE = 128
#: Bytes moved to cast one element of an 8-bit product's operand: read in 16 bits, written in 8 and,
#: transposed, in 8 again (Transformer Engine, cast_transpose). MXFP8 scales blocks along both dimensions and
#: lays out the scales: fitted to the difference between public runs of one job in both precisions (Llama 3 8B
#: and 70B on Blackwell, 2 to 11 %). NVFP4 reads 16 bits twice, first for the tensor's maximum, and writes 4
#: bits and a scale of 8 for each 16 values along either side (Transformer Engine, NVFP4BlockScaling).
CAST_BYTES = {"fp8": 4.0, "mxfp8": 7.0, "nvfp4": 5.125}
#: Elements of 16 bits that tensor cores load at once, and the share of their rate that products with
#: unaligned rows reach (NVIDIA, Matrix Multiplication Background: 16 bytes). Padding nanoGPT's 50,257 tokens
#: to 50,304 makes it a quarter faster (its author's figure), and the head is 0.31 of its FLOP.
ALIGNED, UNALIGNED = 8, 0.55

#: `matmul` or `matmul_backward`: seconds by case, rows, columns and inner width.
Product = Callable[..., Column]


def aligned(columns: Column) -> Column:
    """Share of the tensor cores' rate that a product with `columns` columns reaches: 1, or UNALIGNED."""
    return np.where(np.floor(columns) % ALIGNED == 0, 1.0, UNALIGNED)


def matmul(
    case: Case,
    rows: Column,
    columns: Column,
    inner: Column,
    half: bool = False,
    cast: bool = True,
    groups: Column = 1.0,
) -> Column:
    """Seconds of one rows x inner by inner x columns product, in the job's precision or (`half`) in 16 bits;
    `cast` adds the cast of its input to fp8. Of `groups` such products in one kernel."""
    seconds = product(case, rows, columns, inner, half, groups=groups)
    return seconds + casts(case, groups * rows * inner) if cast and not half else seconds


def matmul_backward(
    case: Case,
    rows: Column,
    columns: Column,
    inner: Column,
    half: bool = False,
    cast: bool = True,
    groups: Column = 1.0,
) -> Column:
    """Seconds of the gradients of a product's input and, unless its weights are frozen, of those, accumulated
    over the step."""
    seconds = product(case, rows, inner, columns, half, groups=groups)
    if case.train.adapters is not None:
        return seconds + casts(case, groups * rows * columns) if cast and not half else seconds
    seconds = seconds + product(case, inner, columns, rows, half, case.gradient_bytes, groups)
    return seconds + casts(case, groups * rows * columns) if cast and not half else seconds


def product(
    case: Case,
    rows: Column,
    columns: Column,
    inner: Column,
    half: bool,
    result_bytes: float = 2.0,
    groups: Column = 1.0,
) -> Column:
    """Seconds of a matrix product, or of `groups` in one kernel, without casts: a launch, and the root of the
    sum of squares of their FLOP at the reachable rate and of their bytes at the reachable bandwidth.

    Neither of the two hides wholly behind the other where they take equally long, and either bounds the time.
    Fitted to 4,000 products in bf16 on A100, H100, B200 and GB200 (benchmarks/data/kernels_public.csv), one
    exponent for all ends at 2.3, and products that are bound by bytes at the share of bandwidth that others
    reach of the FLOP rate. Tiles and waves of tiles explain no more: libraries choose among tiles by shape.
    """
    rate = case.half_linear_rate if half else case.linear_rate
    operations = 2.0 * groups * rows * columns * inner / rate
    moved = groups * product_bytes(case, rows, columns, inner, half, result_bytes)
    return case.gpu.kernel_launch + np.hypot(operations, moved / case.memory_rate)


def product_bytes(
    case: Case, rows: Column, columns: Column, inner: Column, half: bool, result_bytes: float
) -> Column:
    """Bytes that a matrix product moves: both operands, and its result in `result_bytes` per element."""
    width = 2.0 if half else case.operand_bytes
    return width * (rows * inner + inner * columns) + result_bytes * rows * columns


def casts(case: Case, elements: Column) -> Column:
    """Seconds to cast `elements` to fp8; 0 for a job in 16 bits."""
    return CAST_BYTES.get(case.train.precision, 0.0) * elements / case.memory_rate


def streamed(case: Case, moved_bytes: Column) -> Column:
    """Seconds of elementwise kernels that move `moved_bytes`."""
    return moved_bytes / case.memory_rate


def grouped(
    case: Case, kind: Product, groups: Column, rows: Column, columns: Column, inner: Column
) -> Column:
    """Seconds of equal products, one for each of `groups` experts: in one kernel where it applies activation
    and casts itself, else with a launch each. Their rows are rounded up to whole tiles, half a tile more
    on average; few rows get narrower tiles."""
    fused = case.traits.kernels.fused_experts
    padded = rows + 0.5 * np.minimum(TILE, rows)
    together = kind(case, padded, columns, inner, cast=not fused, groups=groups)
    if fused:
        return together
    products = 1 if kind is matmul else 2
    return together + products * (groups - 1) * case.gpu.kernel_launch


def overlapped(case: Case, seconds: Column, exposed: Column) -> Column:
    """Seconds of traffic that add to a step when of `seconds` all but `exposed` should overlap."""
    lost = case.cluster.overlap_lost
    return np.maximum(exposed, lost * seconds + (1.0 - lost) * exposed)
