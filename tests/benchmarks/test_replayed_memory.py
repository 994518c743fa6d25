"""The rules of torch's allocator, and the gap that they leave beside a loss."""

from __future__ import annotations

from benchmarks.gpu.allocator import MIB, Allocator


def test_logits_of_16_bits_leave_a_gap_that_the_second_fp32_gradient_does_not_fit() -> None:
    """12 bytes per logit are needed at most, and 14 are reserved."""
    logits, heap = 500 * MIB, Allocator()
    half, wide, kept = (heap.take(width * logits) for width in (2, 4, 4))
    heap.give(half)
    heap.give(wide)
    heap.take(4 * logits)
    heap.take(4 * logits)
    assert heap.most_allocated == 12 * logits
    assert heap.most_reserved == 14 * logits
    heap.give(kept)
    assert heap.reserved == 14 * logits


def test_a_segment_grows_from_the_free_block_at_its_end() -> None:
    heap = Allocator()
    first = heap.take(100 * MIB)
    heap.give(first)
    heap.take(110 * MIB)
    assert heap.reserved == 120 * MIB


def test_the_smallest_free_block_is_taken_and_its_rest_stays_free() -> None:
    heap = Allocator()
    wide, wall, narrow, end = (heap.take(size * MIB) for size in (60, 20, 40, 20))
    heap.give(wide)
    heap.give(narrow)
    assert heap.take(30 * MIB).start == narrow.start
    assert heap.take(10 * MIB).start == narrow.start + 30 * MIB
    assert (heap.reserved, wall.free, end.free) == (140 * MIB, False, False)


def test_small_blocks_lie_apart_and_sizes_are_rounded() -> None:
    heap = Allocator()
    heap.take(1)
    assert (heap.allocated, heap.reserved) == (512, 2 * MIB)
    heap.take(MIB + 1)
    assert (heap.allocated, heap.reserved) == (512 + MIB + 512, 22 * MIB)
