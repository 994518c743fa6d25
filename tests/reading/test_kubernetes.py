"""Manifests of Kubernetes: pods, GPUs and the commands inside, at their lines of the YAML."""

from __future__ import annotations

from textwrap import indent
from typing import Any

import pytest

from parc.backends.launch_files import read_jobs
from parc.lint.discovery import looks_like_launch
from parc.reading.facts import LaunchConfig, Unknown

POD = """spec:
  containers:
  - name: pytorch
    image: some/image
    resources: {limits: {nvidia.com/gpu: 8}}
    env:
    - {name: TP, value: "4"}
    - name: HOST
      valueFrom: {fieldRef: {fieldPath: status.hostIP}}
    command: [bash, -c]
    args:
    - |
      set -e
      torchrun --nnodes $PET_NNODES --nproc-per-node auto pretrain_gpt.py \\
        --tensor-model-parallel-size $TP --num-layers 32 --hidden-size 4096
"""
PYTORCH = """pytorchReplicaSpecs:
  Master:
    template:
POD  Worker:
    replicas: 3
    template:
POD"""
JOB = "parallelism: 4\ncompletions: 4\ntemplate:\nPOD"
JOB_SET = """replicatedJobs:
- replicas: 1
  template:
    spec:
      parallelism: 4
      template:
POD"""
MPI = """mpiReplicaSpecs:
  Launcher:
    template:
POD  Worker:
    replicas: 2
    template:
POD"""
VOLCANO = "tasks:\n- replicas: 4\n  template:\nPOD"


def manifest(kind: str, spec: str, depth: int, pod: str = POD, api: str = "v1") -> str:
    filled = spec.replace("POD", indent(pod, " " * depth))
    return f"apiVersion: {api}\nkind: {kind}\nspec:\n{indent(filled, '  ')}"


def job(text: str, **environment: str) -> LaunchConfig:
    (found,) = read_jobs({"job.yaml": text}, environment=environment)
    return found


def facts(config: LaunchConfig) -> dict[str, Any]:
    return {
        name: value for name, value in config.values().items() if not isinstance(value, Unknown)
    }


SAID = {"tp": 4, "layers": 32, "hidden": 4096, "gpus_per_pod": 8}


@pytest.mark.parametrize(
    ("kind", "spec", "depth", "api"),
    [
        ("PyTorchJob", PYTORCH, 6, "kubeflow.org/v1"),
        ("Job", JOB.replace("completions: 4", "nothing: 0"), 2, "batch/v1"),
        ("JobSet", JOB_SET, 8, "jobset.x-k8s.io/v1alpha2"),
        ("Job", VOLCANO, 4, "batch.volcano.sh/v1alpha1"),
    ],
)
def test_pods_and_the_command_that_they_run(kind: str, spec: str, depth: int, api: str) -> None:
    text = manifest(kind, spec, depth, POD.replace("$PET_NNODES", "4"), api)
    found = job(text)
    shape = {"nodes": 4, "gpus_per_node": 8, "gpus": 32, "pods": 4}
    assert facts(found).items() >= {**SAID, **shape}.items()
    assert (found.framework, str(found.kind)) == ("megatron", "kubernetes+megatron")
    lines = text.split("\n")
    for fact in found.facts:
        if fact.name in ("layers", "hidden", "tp", "gpus_per_pod"):
            there = lines[fact.line - 1][fact.column - 1 :].strip('"')
            assert there.startswith(str(fact.value)), (fact, there)


def test_the_operators_variables() -> None:
    found = job(manifest("PyTorchJob", "nprocPerNode: '8'\n" + PYTORCH, 6))
    assert facts(found).items() >= {"nodes": 4, "gpus_per_node": 8, "gpus": 32}.items()
    pod = POD.replace("--nnodes $PET_NNODES --nproc-per-node auto", "")
    assert facts(job(manifest("PyTorchJob", PYTORCH, 6, pod)))["gpus"] == 32
    elastic = job(manifest("PyTorchJob", "elasticPolicy: {minReplicas: 1}\n" + PYTORCH, 6))
    assert "nodes" not in facts(elastic) and "pods" not in facts(elastic)


def test_train_job() -> None:
    text = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
spec:
  trainer:
    numNodes: 2
    resourcesPerNode: {limits: {nvidia.com/gpu: 4}}
    command: [torchrun, train.py]
"""
    assert facts(job(text)) == {
        "nodes": 2, "gpus_per_node": 4, "gpus": 8, "pods": 2, "gpus_per_pod": 4,
    }  # fmt: skip
    runtimes = facts(job(text.replace("    numNodes: 2\n", "")))
    assert "nodes" not in runtimes and runtimes["gpus_per_node"] == 4


def test_mpi_job() -> None:
    pod = POD.replace("bash, -c", "mpirun").replace(
        "    - |\n      set -e\n", "    - -np\n    - '16'\n    - python\n"
    )
    pod = pod[: pod.index("      torchrun")] + "    - train.py\n"
    assert facts(job(manifest("MPIJob", MPI, 6, pod))) == {
        "gpus": 16,
        "pods": 2,
        "gpus_per_pod": 8,
    }


def test_words_that_no_shell_reads() -> None:
    pod = POD[: POD.index("    command")] + (
        "    command: [torchrun, --nnodes=2, '--nproc-per-node=${GPUS}', pretrain_gpt.py]\n"
        "    args: ['--tensor-model-parallel-size=$(TP)', --num-layers=$LAYERS, --seq-length=8]\n"
    )
    text = manifest("Job", JOB, 2, pod, "batch/v1")
    found = job(text)
    assert facts(found).items() >= {"tp": 4, "nodes": 2, "seq_len": 8}.items()
    reason = "`$LAYERS` is filled in before the manifest is applied"
    assert found.value("layers") == Unknown(reason) and "gpus_per_node" not in facts(found)
    assert facts(job(text, LAYERS="24", GPUS="8")).items() >= {"layers": 24, "gpus": 16}.items()


def test_what_the_pod_is_given_is_unknown_and_not_unset() -> None:
    pod = POD.replace("--hidden-size 4096", "--hidden-size $HOST --seq-length $IMAGE_SETS_IT")
    found = job(manifest("Job", JOB, 2, pod, "batch/v1"))
    for name in ("hidden", "seq_len"):
        value = found.value(name)
        assert isinstance(value, Unknown) and not value.unset


@pytest.mark.parametrize(
    "text",
    [
        manifest("Job", "template: [\n", 0),
        manifest("Job", "template:\nPOD", 2, "spec: 3\ntorchrun: 1\n"),
        manifest("Job", JOB, 2, POD.replace("torchrun", "sleep")),
        "apiVersion: v1\nkind: Job\nspec: torchrun\n",
    ],
)
def test_what_says_nothing_is_no_fault_of_ours(text: str) -> None:
    found = job(text)
    assert {"tp", "gpus", "nodes"}.isdisjoint(facts(found)) and found.framework is None


def test_which_yaml_is_one() -> None:
    text = manifest("Job", JOB, 2, POD, "batch/v1")
    assert looks_like_launch("job.yaml", text)
    for other in (
        text.replace("kind: Job", "kind: Service"),
        text.replace("4096", "{{ .hidden }}"),
    ):
        assert not looks_like_launch("job.yaml", other)


RAY = """apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
spec:
  replicatedJobs:
  - template:
      spec:
        parallelism: 1
        completions: 1
        template:
          spec:
            containers:
            - {name: head, args: [ray, start, --head]}
  - template:
      spec:
        parallelism: 4
        completions: 4
        template:
          spec:
            containers:
            - name: worker
              args: [ray, start, --block]
              resources: {limits: {nvidia.com/gpu: 8}}
# torchrun
"""


def test_the_pods_with_gpus_are_those_of_a_job_without_a_launcher() -> None:
    (config,) = read_jobs({"job.yaml": RAY})
    assert config.values() == {"pods": 4, "gpus_per_pod": 8}


RAY_JOB = """entrypoint: torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096
rayClusterSpec:
  headGroupSpec:
    template:
      spec: {containers: [{name: head, image: some/image}]}
  workerGroupSpecs:
  - groupName: cpus
    replicas: 9
    template:
      spec: {containers: [{name: worker, image: some/image}]}
  - groupName: gpus
    replicas: 4
    template:
POD"""


def test_a_ray_job() -> None:
    """Its command runs once, whatever starts the rest on the workers with GPUs."""
    found = job(manifest("RayJob", RAY_JOB, 6, api="ray.io/v1"))
    assert str(found.kind) == "kubernetes+megatron"
    assert facts(found).items() >= {"pods": 4, "gpus_per_pod": 8, "layers": 32}.items()
    assert facts(found)["tp"] == 1, "what the pods say runs in no job of Ray"
    assert looks_like_launch("job.yaml", manifest("RayJob", RAY_JOB, 6, api="ray.io/v1"))
