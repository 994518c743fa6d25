"""Variables that `pretrain.sh` sets where `extra` asks for what needs them, or what they exclude."""

from __future__ import annotations

import pytest

from parc.backends.extra import Value
from parc.backends.megatron.emit.environment import variables
from parc.backends.megatron.options import Options
from tests.support.megatron_plans import plan_of

SEGMENTS, GRAPHS = "PYTORCH_CUDA_ALLOC_CONF", "NCCL_GRAPH_REGISTER"


@pytest.mark.parametrize(
    ("extra", "wanted"),
    [
        ({}, {SEGMENTS}),
        ({"cuda-graph-impl": "transformer_engine"}, {SEGMENTS, GRAPHS}),
        ({"external_cuda_graph": True}, {SEGMENTS, GRAPHS}),
        ({"external_cuda_graph": False}, {SEGMENTS}),
        ({"use_nccl_ub": True}, set()),
    ],
)
def test_extra_decides_variables(extra: dict[str, Value], wanted: set[str]) -> None:
    assert {each.name for each in variables(plan_of(options=Options(extra=extra)))} == wanted
