"""torch's caching allocator for one GPU and one stream, with growing segments: calls -> bytes reserved.

After c10/cuda/CUDACachingAllocator.cpp of torch 2.13 with `expandable_segments:True`: sizes are multiples of
512 bytes; blocks up to 1 MiB lie in a segment of their own, which grows by 2 MiB, others in one that grows by
20. A call takes the smallest free block that holds it and leaves the rest free; else the segment grows, from
the free block at its end on. Neighbours that are free are one block.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

MIB = 2**20
ROUND = 512
SMALL = MIB
PAGES = {True: 2 * MIB, False: 20 * MIB}


@dataclass
class Block:
    start: int
    size: int
    free: bool = True


@dataclass
class Segment:
    """Blocks in order of their addresses, without holes between them."""

    page: int
    blocks: list[Block] = field(default_factory=list)

    @property
    def size(self) -> int:
        return self.blocks[-1].start + self.blocks[-1].size if self.blocks else 0

    def take(self, size: int) -> Block:
        fitting = [block for block in self.blocks if block.free and block.size >= size]
        block = min(fitting, key=lambda each: each.size) if fitting else self._grown(size)
        if block.size > size:
            rest = Block(block.start + size, block.size - size)
            self.blocks.insert(self._place(block) + 1, rest)
            block.size = size
        block.free = False
        return block

    def give(self, block: Block) -> None:
        block.free = True
        place = self._place(block)
        if place + 1 < len(self.blocks) and self.blocks[place + 1].free:
            block.size += self.blocks.pop(place + 1).size
        if place and self.blocks[place - 1].free:
            self.blocks[place - 1].size += self.blocks.pop(place).size

    def _grown(self, size: int) -> Block:
        end = self.size
        if not (self.blocks and self.blocks[-1].free):
            self.blocks.append(Block(end, 0))
        last = self.blocks[-1]
        last.size += -(-(size - last.size) // self.page) * self.page
        return last

    def _place(self, block: Block) -> int:
        return bisect_left(self.blocks, block.start, key=lambda each: each.start)


class Allocator:
    """Bytes that live tensors take, and that the device has given, now and at most."""

    def __init__(self) -> None:
        self.segments = {small: Segment(page) for small, page in PAGES.items()}
        self.allocated = self.most_allocated = self.most_reserved = 0

    def take(self, size: int) -> Block:
        rounded = max(ROUND, -(-size // ROUND) * ROUND)
        block = self.segments[rounded <= SMALL].take(rounded)
        self.allocated += block.size
        self.most_allocated = max(self.most_allocated, self.allocated)
        self.most_reserved = max(self.most_reserved, self.reserved)
        return block

    def give(self, block: Block) -> None:
        self.allocated -= block.size
        self.segments[block.size <= SMALL].give(block)

    @property
    def reserved(self) -> int:
        return sum(segment.size for segment in self.segments.values())
