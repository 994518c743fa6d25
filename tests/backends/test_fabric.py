"""The variables of a cluster's network: on several nodes, before the job's own, each with its reason."""

from __future__ import annotations

import pytest

from parc.backends import BACKENDS
from parc.backends.environment import problems
from parc.backends.fabric import SAME, WHY, fabric
from parc.compiler.plan import Layout, Plan
from parc.dsl.job import Launch
from parc.dsl.library import std_entries
from parc.dsl.standard import std_cluster
from tests.support.sample_plans import sample_plan

TWO_NODES = Layout(tp=8, dp_shard=2, zero=2, microbatches=16)
ONE_NODE = Layout(tp=8, zero=0, microbatches=16)


def plan_with(env: dict[str, str | int | bool], layout: Layout = TWO_NODES, **own: str) -> Plan:
    plan = sample_plan("torchtitan", layout=layout, launch=Launch(env={**own}))
    cluster = plan.job.cluster.model_copy(update={"env": env, "name": "site"})
    return plan.model_copy(update={"job": plan.job.model_copy(update={"cluster": cluster})})


def script(plan: Plan) -> list[str]:
    return BACKENDS["torchtitan"].emit(plan)["torchtitan/launch.sh"].splitlines()


def test_a_variable_stands_below_its_reason() -> None:
    lines = script(plan_with({"NCCL_NET": "AWS Libfabric", "NCCL_IB_TC": 106, "ON": True}))
    first = lines.index('export NCCL_NET="${NCCL_NET:-AWS Libfabric}"')
    assert lines[first - 1] == f"# {WHY['NCCL_NET']}"
    own = lines.index('export NCCL_IB_TC="${NCCL_IB_TC:-106}"')
    assert lines[own - 1] == "# Needed by the network of site."
    assert 'export ON="${ON:-1}"' in lines


def test_one_node_has_no_network() -> None:
    assert list(fabric(plan_with({"NCCL_NET": "AWS Libfabric"}, ONE_NODE))) == []


def test_the_jobs_own_go_before() -> None:
    lines = script(plan_with({"NCCL_NET": "AWS Libfabric"}, NCCL_NET="IB"))
    assert [line for line in lines if "NCCL_NET" in line] == ['export NCCL_NET="${NCCL_NET:-IB}"']


def test_a_name_that_no_shell_takes_is_refused() -> None:
    (problem,) = problems(plan_with({"A-B": 1}).job, ())
    assert problem.code == "PAR381" and "`A-B`" in problem.message


@pytest.mark.parametrize("name", [entry.name for entry in std_entries() if entry.kind == "cluster"])
def test_variables_of_std_have_their_reason(name: str) -> None:
    assert std_cluster(name).env.keys() <= WHY.keys() | SAME


def test_what_the_sources_name_is_there() -> None:
    assert std_cluster("cloud_h100").env == {"FI_EFA_USE_HUGE_PAGE": 0}
    assert std_cluster("quad_gh200").env["NCCL_NET"] == "AWS Libfabric"
    assert std_cluster("dgx_h100").env == {}
