"""Variables that `pretrain.sh` sets where `extra` asks for what needs them, or what they exclude."""

from __future__ import annotations

import pytest

from parc.backends.extra import Value
from parc.backends.megatron.emit.environment import variables
from parc.backends.megatron.options import Options
from tests.support.megatron_plans import plan_of, script_of

SEGMENTS, GRAPHS = "PYTORCH_CUDA_ALLOC_CONF", "NCCL_GRAPH_REGISTER"
#: What every run on several GPUs has.
ALWAYS = {"TORCH_NCCL_HIGH_PRIORITY", "TORCH_NCCL_ASYNC_ERROR_HANDLING"}


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
    found = {each.name for each in variables(plan_of(options=Options(extra=extra)))}
    assert found == wanted | ALWAYS


def test_traces_of_a_hang_are_asked_for_as_each_release_takes_it() -> None:
    """0.17 has options of its own; before, PyTorch's variables do."""
    newer = plan_of(options=Options(version="0.17"))
    assert '--flight-recorder-dump-path="$RUN_LOGS/nccl_rank_"' in script_of(newer)
    assert "TORCH_NCCL_TRACE_BUFFER_SIZE" not in {each.name for each in variables(newer)}
    older = plan_of(options=Options(version="0.16"))
    assert "--flight-recorder" not in script_of(older)
    assert {each.name: each.value for each in variables(older)}.items() >= {
        ("TORCH_NCCL_TRACE_BUFFER_SIZE", "2000"),
        ("TORCH_NCCL_DUMP_ON_TIMEOUT", "1"),
        ("TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "$RUN_LOGS/nccl_rank_"),
        ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "3"),
    }
