"""Memory that a source's figure counts: `mem_counts` and `mem_unit` of a row, and the meaning of
blanks."""

from __future__ import annotations

from benchmarks.accuracy.rows.csv_rows import Row, Unusable

MIB, GIB, GB = 2**20, 2**30, 10**9
#: `device` of the first pipeline stage, where others count the fullest rank.
FIRST_STAGE = "device of the first stage"
#: Tensors alone, what torch's allocator holds for them, or all that nvidia-smi shows, driver context and
#: libraries included; `planned` is without gaps and caches.
COUNTS = ("allocated", "reserved", "device", FIRST_STAGE, "planned", "unknown")
UNITS = {"gib": GIB, "gb": GB, "1000 mib": 1000 * MIB}
#: What blanks mean. torchtitan logs the maximum that torch's allocator reserved, nanotron's "Mem Alloc (GB)"
#: is divided by 1024 three times (helpers.py, create_table_log), OneFlow plans all tensors' places at compile
#: time. InternEvo and Primus do not say: InternEvo's FSDP rows fall by 27 to 30 bytes per parameter with the
#: ranks, beyond any state of the framework.
USUAL = {
    "torchtitan": ("reserved", GIB),
    "nanotron": ("allocated", GIB),
    "oneflow": ("planned", GIB),
    "internevo": ("unknown", GB),
    "primus": ("unknown", GB),
}


def gauge_of(row: Row) -> tuple[str, int]:
    """Kind of memory of a row's figure, and the bytes of its unit. Raises Unusable for unknown words."""
    counts, unit = USUAL.get(row.framework, ("device", GB))
    if row.mem_counts:
        if row.mem_counts not in COUNTS:
            raise Unusable(f"unknown mem_counts `{row.mem_counts}`")
        counts = row.mem_counts
    if row.mem_unit:
        if row.mem_unit not in UNITS:
            raise Unusable(f"unknown mem_unit `{row.mem_unit}`")
        unit = UNITS[row.mem_unit]
    return counts, unit
