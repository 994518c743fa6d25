"""What `measure_gpu.py` times on one GPU, and the `gpu` block that the times give. No torch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Protocol

GIB = 2**30


@dataclass(frozen=True)
class Product:
    """rows x inner by inner x columns, in bf16."""

    rows: int
    columns: int
    inner: int

    @property
    def flops(self) -> float:
        return 2.0 * self.rows * self.columns * self.inner


@dataclass(frozen=True)
class Attention:
    """Fused causal attention, in bf16; half of the scores are masked."""

    batch: int
    heads: int
    seq_len: int
    head_dim: int

    @property
    def flops(self) -> float:
        return 2.0 * self.batch * self.heads * self.seq_len**2 * self.head_dim


#: Widths (columns, inner) of Llama's products: 1B, 8B and 70B, and the last two over four ranks.
WIDTHS = (
    (3072, 2048), (16_384, 2048), (2048, 8192), (6144, 4096), (28_672, 4096), (4096, 14_336),
    (10_240, 8192), (57_344, 8192), (8192, 28_672), (1536, 4096), (7168, 4096), (14_336, 8192),
)  # fmt: skip
PRODUCTS = tuple(Product(rows, *width) for width in WIDTHS for rows in (512, 2048, 8192, 32_768))
ATTENTIONS = tuple(
    Attention(batch, heads, seq_len, head_dim)
    for batch, seq_len in ((8, 1024), (4, 2048), (2, 4096), (1, 8192), (1, 16_384), (1, 32_768))
    for heads, head_dim in ((32, 64), (32, 128))
)
#: Bytes that an elementwise kernel reads, and writes again.
COPIES = (16 * 2**20, 64 * 2**20, 256 * 2**20, GIB, 4 * GIB)
#: Products, sequences and copies from these on count as large: the formulas say the rest themselves.
LARGE_FLOPS, LARGE_SEQUENCE, LARGE_BYTES = 2e11, 4096, 256 * 2**20


class Clock(Protocol):
    """Seconds of one kernel on the GPU. Its caller has it warmed up and repeats it."""

    def product(self, shape: Product) -> float: ...

    def attention(self, shape: Attention) -> float: ...

    def copy(self, moved_bytes: int) -> float: ...

    def launch(self) -> float: ...


@dataclass(frozen=True)
class Timed:
    """One measurement: what, how large (FLOP or bytes), seconds, and whether it counts as large."""

    what: str
    shape: str
    size: float
    seconds: float
    large: bool

    @property
    def rate(self) -> float:
        return self.size / self.seconds


def measure(
    clock: Clock,
    products: Sequence[Product] = PRODUCTS,
    attentions: Sequence[Attention] = ATTENTIONS,
    copies: Sequence[int] = COPIES,
) -> list[Timed]:
    """Every shape once by the clock; launch last."""
    timed = [
        Timed(
            "product",
            f"{s.rows}x{s.inner}x{s.columns}",
            s.flops,
            clock.product(s),
            s.flops >= LARGE_FLOPS,
        )
        for s in products
    ]
    timed += [
        Timed(
            "attention",
            f"{s.batch}x{s.heads}x{s.seq_len}x{s.head_dim}",
            s.flops,
            clock.attention(s),
            s.seq_len >= LARGE_SEQUENCE,
        )
        for s in attentions
    ]
    timed += [
        Timed("copy", str(size), 2.0 * size, clock.copy(size), size >= LARGE_BYTES)
        for size in copies
    ]
    return [*timed, Timed("launch", "empty", 1.0, clock.launch(), True)]


@dataclass(frozen=True)
class Measured:
    """The numbers of a `gpu` block that one GPU tells of, as shares of its published peaks."""

    matmul_efficiency: float
    attention_efficiency: float
    memory_efficiency: float
    kernel_launch: float


def fitted(timed: Iterable[Timed], peak_flops: float, memory_bandwidth: float) -> Measured:
    """Medians over the large shapes. A share above 1 cannot be: that peak is of another part.

    Raises ValueError naming it, or what was not measured.
    """
    rates: dict[str, list[float]] = {}
    for each in timed:
        if each.large:
            rates.setdefault(each.what, []).append(each.rate)
    missing = [what for what in ("product", "attention", "copy", "launch") if what not in rates]
    if missing:
        raise ValueError(f"nothing large enough was measured of: {', '.join(missing)}")
    shares = {
        "matmul_efficiency": median(rates["product"]) / peak_flops,
        "attention_efficiency": median(rates["attention"]) / peak_flops,
        "memory_efficiency": median(rates["copy"]) / memory_bandwidth,
    }
    for name, share in shares.items():
        if not 0 < share <= 1:
            raise ValueError(f"{name} would be {share:.3g}: the GPU is not the one its name says")
    return Measured(**shares, kernel_launch=1 / rates["launch"][0])


def gpu_block(name: str, base: str, measured: Measured, about: str) -> str:
    """The text of a `.par` file with one GPU, on top of the standard library's."""
    return (
        f"# {about}\n"
        f"gpu {name} from std.{base} {{\n"
        f"  matmul_efficiency    = {measured.matmul_efficiency:.3f}\n"
        f"  attention_efficiency = {measured.attention_efficiency:.3f}\n"
        f"  memory_efficiency    = {measured.memory_efficiency:.3f}\n"
        f"  kernel_launch        = {measured.kernel_launch * 1e6:.2f} us\n"
        "}\n"
    )
