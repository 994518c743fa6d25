"""Any text becomes a name that a block may have."""

from __future__ import annotations

import pytest

from parc.backends import BACKENDS
from parc.dsl import loads
from parc.dsl.syntax.naming import block_name
from tests.support.hostile_texts import LINES, PIECES, text_of

REST = """
cluster c from std.dgx_h100 { nodes = 1 }
train { seq_len = 1024; global_batch = 64; steps = 100 }
goal { maximize mfu }
target megatron {}
"""


@pytest.mark.parametrize(
    "text, name",
    [
        ("Llama-3.1-8B", "Llama_3_1_8B"),
        ("from", "model_from"),
        ("7b", "model_7b"),
        ("é", "model"),
        ("", "model"),
        ("__x__", "x"),
    ],
)
def test_names(text: str, name: str) -> None:
    assert block_name(text, "model") == name


@pytest.mark.parametrize("seed", range(20))
def test_the_language_reads_the_block(seed: int) -> None:
    name = block_name(text_of(seed, PIECES + LINES), "model")
    shape = "{ layers = 4; hidden = 512; heads = 8; vocab = 32000; ffn = 2048 }"
    options = {"megatron": BACKENDS["megatron"].target.options}
    job = loads(f"model {name} {shape}{REST}", "job.par", targets=options)
    assert job.model.name == name
