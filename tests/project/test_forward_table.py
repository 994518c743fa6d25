"""docs/acceptance.md says which families are compared with transformers where: what the tests compare."""

from __future__ import annotations

from tests.acceptance import (
    test_forward_deepspeed,
    test_forward_megatron,
    test_forward_torchtitan,
)
from tests.acceptance.support.hugging_face import FAMILIES
from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "acceptance.md"
COLUMNS = (
    "family of std", "Megatron-LM", "torchtitan 0.2.0", "torchtitan 0.2.2", "torchtitan 0.3.0", "DeepSpeed"
)  # fmt: skip
HEAD = f"| {' | '.join(COLUMNS)} |\n{'| --- ' * len(COLUMNS)}|\n"


def rows() -> list[str]:
    megatron = test_forward_megatron.CLAIMED
    titans = [
        test_forward_torchtitan.claimed(release) for release in test_forward_torchtitan.RELEASES
    ]
    deepspeed = [name for name in FAMILIES if name not in test_forward_deepspeed.REFUSED]
    return [
        f"| {' | '.join([name, *(_word(name in of) for of in (megatron, *titans, deepspeed))])} |\n"
        for name in FAMILIES
    ]


def _word(compared: bool) -> str:
    return "equal" if compared else "refused"


def test_the_table_is_what_is_compared(update: bool) -> None:
    page = PAGE.read_text()
    before, head, rest = page.partition(HEAD)
    assert head
    after = rest[rest.index("\n## ") :]
    if update:
        PAGE.write_text(before + head + "".join(rows()) + after)
    assert PAGE.read_text() == before + head + "".join(rows()) + after
