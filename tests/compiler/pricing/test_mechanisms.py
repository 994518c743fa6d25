"""How much of a step each mechanism decides, against pricing by hand at another rate; the drawn errors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from parc.compiler.algebra import Integers
from parc.compiler.case import Case
from parc.compiler.pricing.mechanisms import (
    LAYOUT,
    LONGER,
    NAMES,
    SPREADS,
    drawn_errors,
    exposed,
    shares,
)
from parc.compiler.pricing.quantities import price
from parc.compiler.search.space import Space
from tests.support.solver_and_sweep import MOE, TARGETS, TRAIN, job_of, target_of


def some_layouts(target: str) -> tuple[Case, dict[str, Integers]]:
    """Fifty layouts from all over a space, of a model with experts, wide enough to keep GPUs busy."""
    model = {**MOE, "hidden": 4096, "ffn": 8192}
    job = job_of("", target=target, model=model, train={**TRAIN, "seq_len": 16384})
    case = Case(job, target_of(job))
    layouts = Space(case).layouts
    rows = np.linspace(0, len(layouts["tp"]) - 1, 50).astype(int)
    return case, {name: column[rows] for name, column in layouts.items()}


def with_hardware(case: Case, gpu: dict[str, Any], **cluster: Any) -> Case:
    changed = case.gpu.model_copy(update=gpu)
    owner = case.cluster.model_copy(update={**cluster, "gpu": changed})
    return Case(case.job.model_copy(update={"cluster": owner}), case.target)


def slower(case: Case, mechanism: str) -> Case:
    gpu, cluster, host = case.gpu, case.cluster, case.traits.host
    match mechanism:
        case "products":
            rates = ("matmul_efficiency", "fp8_efficiency")
            return with_hardware(case, {name: getattr(gpu, name) / LONGER for name in rates})
        case "attention":
            return with_hardware(case, {"attention_efficiency": gpu.attention_efficiency / LONGER})
        case "memory":
            return with_hardware(case, {"memory_efficiency": gpu.memory_efficiency / LONGER})
        case "fast link":
            latency = LONGER * gpu.nvlink_latency
            return with_hardware(case, {"nvlink": gpu.nvlink / LONGER, "nvlink_latency": latency})
        case "network":
            efficiency = cluster.network_efficiency / LONGER
            latency = LONGER * cluster.network_latency
            return with_hardware(case, {}, network_efficiency=efficiency, network_latency=latency)
    names = ("gap_seconds", "host_seconds", "expert_host_seconds")
    traits = case.traits.replaced(**{name: LONGER * getattr(host, name) for name in names})
    target = replace(case.target, traits=traits, stack=lambda job: {})
    return with_hardware(
        replace(case, target=target), {"kernel_launch": LONGER * gpu.kernel_launch}
    )


@pytest.mark.parametrize("target", TARGETS)
def test_a_share_is_what_a_longer_time_adds(target: str) -> None:
    case, columns = some_layouts(target)
    found = dict(zip(NAMES, shares(case, columns), strict=True))
    base = price(case, columns).step_ns
    for name in ("products", "attention", "memory", "fast link", "network", "host"):
        step = price(slower(case, name), columns).step_ns
        assert found[name] == pytest.approx(np.log(step / base) / np.log(LONGER), abs=1e-9), name
        assert found[name].max() > 0.001, name


def test_what_nothing_uses_decides_nothing() -> None:
    job = job_of("", cluster={"nodes": 1})
    case = Case(job, target_of(job))
    layouts = Space(case).layouts
    alone = (layouts["tp"] == 1) & (layouts["pp"] == 8) & (layouts["cp"] == 1)
    columns = {name: column[alone][:20] for name, column in layouts.items()}
    found = dict(zip(NAMES, shares(case, columns), strict=True))
    assert np.abs(found["network"]).max() == 0.0 and np.abs(found["tp"]).max() == 0.0
    assert (found["pp"] == 3.0).all()


@pytest.mark.parametrize("target", TARGETS)
def test_what_overlaps_is_what_a_framework_without_overlap_adds(target: str) -> None:
    """With cp, a framework without a ring also computes attention in one part, which is not overlap."""
    case, columns = some_layouts(target)
    found = shares(case, columns)[NAMES.index("overlap")]
    added = price(exposed(case), columns).step_ns / price(case, columns).step_ns - 1
    alone = columns["cp"] == 1
    assert found[alone] == pytest.approx(np.maximum(added, 0.0)[alone], abs=1e-9)
    assert (found >= added - 1e-9).all() and found[alone].max() > 0.01
    overlap = exposed(case).traits.overlap
    assert not any(value for value in vars(overlap).values() if isinstance(value, bool))


def test_errors_in_common_cancel() -> None:
    """Layouts alike in every share differ by what is their own; others by what their shares differ too."""
    alike = np.full((len(NAMES), 2), 0.3)
    apart = alike + np.array([0.0, 0.4])
    for found, shared in ((alike, 0.0), (apart, 0.4)):
        one, two = drawn_errors(found, 40_000).T
        deviation = np.sqrt(2 * LAYOUT**2 + np.sum((shared * SPREADS) ** 2))
        assert np.std(one - two) == pytest.approx(deviation, rel=0.02)
        assert abs(np.mean(one - two)) < 0.02 * deviation


def test_errors_are_drawn_alike_each_time() -> None:
    found = np.linspace(0, 1, 3 * len(NAMES)).reshape(len(NAMES), 3)
    assert (drawn_errors(found, 100) == drawn_errors(found, 100)).all()
    assert len(np.unique(drawn_errors(found, 100))) == 300
