"""Wrong edits of manifests of Kubernetes, each with Megatron-LM's command inside."""

from __future__ import annotations

from benchmarks.lint.mutations.edits import broken, value
from benchmarks.lint.mutations.mutation import Files, Mutation

PATH = "job.yaml"
_POD = """    spec:
      containers:
      - name: train
        image: some/image
        resources: {limits: {nvidia.com/gpu: 8}}
        env: [{name: TP, value: "4"}]
        command: [bash, -c]
        args:
        - |
          torchrun --nnodes 4 --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 \\
            --num-attention-heads 32 --tensor-model-parallel-size $TP --pipeline-model-parallel-size 2 \\
            --micro-batch-size 1 --global-batch-size 256 --seq-length 4096 --max-position-embeddings 4096 \\
            --train-iters 100 --lr 1e-4 --bf16 --sequence-parallel
"""
_JOB = f"apiVersion: batch/v1\nkind: Job\nspec:\n  parallelism: 4\n  template:\n{_POD}"
_ARGV = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
spec:
  trainer:
    numNodes: 4
    resourcesPerNode: {limits: {nvidia.com/gpu: 8}}
    env: [{name: TP, value: "4"}]
    command: [torchrun, --nnodes, "4", --nproc-per-node, "8", pretrain_gpt.py]
    args: [--num-layers, "32", --hidden-size, "4096", --num-attention-heads, "32",
      --tensor-model-parallel-size, "$(TP)", --pipeline-model-parallel-size, "2", --micro-batch-size, "1",
      --global-batch-size, "256", --seq-length, "4096", --max-position-embeddings, "4096",
      --train-iters, "100", --lr, "1e-4", --bf16, --sequence-parallel]
"""
JOBS: dict[str, Files] = {"Job": {PATH: _JOB}, "TrainJob": {PATH: _ARGV}}
#: Between an option and its value, on a command line and in a list of YAML.
_GAP = r'(?: |, ")'

KUBERNETES: tuple[Mutation, ...] = (
    value(PATH, "parallelism: ", (2, 3, 8)),
    value(PATH, "numNodes: ", (2, 3, 8)),
    value(PATH, "nvidia.com/gpu: ", (1, 4, 7)),
    value(PATH, f"--nnodes{_GAP}", (2, 3, 5)),
    value(PATH, f"--nproc-per-node{_GAP}", (9, 16)),
    value(PATH, 'name: TP, value: "', (3, 5, 6)),
    value(PATH, f"--pipeline-model-parallel-size{_GAP}", (3, 5)),
    value(PATH, f"--num-attention-heads{_GAP}", (30, 33)),
    value(PATH, f"--global-batch-size{_GAP}", (255, 7)),
    value(PATH, f"--num-layers{_GAP}", (31, 33, "many")),
    broken(PATH),
)
