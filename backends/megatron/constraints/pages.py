"""Pages of rules that rows of Megatron-LM are: what, why, a file that fails and one that passes."""

from collections.abc import Mapping

PAGES: Mapping[str, str] = {
    "PAR101": """\
Every rank belongs to one tensor, pipeline and context group, so tp * pp * cp must divide the number of
GPUs.

Why:
All processes start, and then all of them stop with an error.

Bad:
torchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 4 \\
    --pipeline-model-parallel-size 4

Good:
torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 4 \\
    --pipeline-model-parallel-size 4
""",
    "PAR111": """\
Tensor parallelism gives every rank the same number of attention heads, so tp must divide the heads.

Why:
Megatron-LM stops at start, torchtitan in the first forward pass, others build a wrong model.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 8 --num-layers 60 \\
    --hidden-size 6656 --num-attention-heads 52 --kv-channels 128

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 4 --num-layers 60 \\
    --hidden-size 6656 --num-attention-heads 52 --kv-channels 128
""",
    "PAR113": """\
Tensor parallelism divides the width of the feed-forward block, so tp must divide it.

Why:
No option parser checks it: Megatron-LM fails while it builds the model, after all processes have started.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 8 --num-layers 32 \\
    --hidden-size 4096 \\
    --num-attention-heads 32 --ffn-hidden-size 11004 --swiglu

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 8 --num-layers 32 \\
    --hidden-size 4096 \\
    --num-attention-heads 32 --ffn-hidden-size 11008 --swiglu
""",
    "PAR115": """\
Expert parallelism gives every rank the same number of experts, so ep must divide the experts.

Why:
Megatron-LM stops at start; torchtitan fails late, in a device mesh, with a message about sizes.

Bad:
torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --num-experts 60 \\
    --expert-model-parallel-size 8

Good:
torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --num-experts 64 \\
    --expert-model-parallel-size 8
""",
    "PAR117": """\
Expert tensor parallelism divides the width of each expert, so etp must divide it.

Why:
No option parser checks it: Megatron-LM fails while it builds the model.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 4 --sequence-parallel \\
    --num-layers 32 \\
    --hidden-size 4096 \\
    --disable-bias-linear --num-experts 8 --moe-ffn-hidden-size 1410 --expert-tensor-parallel-size 4

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 4 --sequence-parallel \\
    --num-layers 32 \\
    --hidden-size 4096 \\
    --disable-bias-linear --num-experts 8 --moe-ffn-hidden-size 1408 --expert-tensor-parallel-size 4
""",
    "PAR119": """\
Experts with biases cannot be divided by expert tensor parallelism.

Why:
Megatron-LM refuses biases in experts unless etp is 1, and biases are its default. Releases before 0.13 take
them, so that it is a hint where nothing tells the release.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 2 --sequence-parallel \\
    --num-layers 32 \\
    --num-experts 8 --expert-tensor-parallel-size 2 --moe-router-fusion

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 2 --sequence-parallel \\
    --num-layers 32 \\
    --num-experts 8 --expert-tensor-parallel-size 2 --moe-router-fusion --disable-bias-linear
""",
    "PAR132": """\
The position table must reach as far as the sequence: --max-position-embeddings at least --seq-length.

Why:
Megatron-LM stops at start.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --seq-length 8192 --max-position-embeddings 4096

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --seq-length 8192 --max-position-embeddings 8192
""",
    "PAR203": """\
Interleaving deals micro-batches to the stages in rounds of pp, so there must be a multiple of pp of
them.

Why:
Megatron-LM accepts the arguments and fails in the first step.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --pipeline-model-parallel-size 8 --num-layers 32 \\
    --num-layers-per-virtual-pipeline-stage 2 --micro-batch-size 1 --global-batch-size 12

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --pipeline-model-parallel-size 8 --num-layers 32 \\
    --num-layers-per-virtual-pipeline-stage 2 --micro-batch-size 1 --global-batch-size 16
""",
    "PAR303": """\
An option works only together with another one, which is missing.

Why:
The framework stops at start, or goes on as if the option had not been given. It is an error where the release
is named (`--framework-version`), a warning where the options are those of a release, and a hint in a fork.
Keys of a DeepSpeed config and settings of torchtitan are options too.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --overlap-param-gather \\
    --use-distributed-optimizer

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --overlap-param-gather \\
    --use-distributed-optimizer --overlap-grad-reduce
""",
    "PAR312": """\
Two options contradict each other.

Why:
Megatron-LM stops at start, some of these with a bare assertion that says nothing. Keys of a DeepSpeed config
and settings of torchtitan are options too.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --train-iters 1000 --train-samples 100000

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --train-iters 1000
""",
    "PAR313": """\
The option is parsed and then ignored.

Why:
The job trains, but not as its script says. A batch ramp that does not happen changes the loss curve.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --global-batch-size 1024 \\
    --rampup-batch-size 128 128 1000000

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --step-batch-size-schedule "0:128 1B:1024"
""",
    "PAR316": """\
The smallest learning rate cannot be above the largest.

Why:
Megatron-LM stops with a bare assertion.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --hidden-size 4096 --num-layers 32 --lr 1e-5 --min-lr 1e-4

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --hidden-size 4096 --num-layers 32 --lr 1e-4 --min-lr 1e-5
""",
    "PAR317": """\
A token cannot visit more experts than there are.

Why:
Megatron-LM accepts the arguments; `torch.topk` fails in the first step.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-experts 8 \\
    --moe-router-topk 16

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-experts 16 \\
    --moe-router-topk 8
""",
    "PAR503": """\
FP8 kernels want matrix sides in multiples of 16, MXFP8 and NVFP4 of 32: hidden size, feed-forward width
and attention width must keep them after tp has divided them.

Why:
Transformer Engine stops in the first step.

Bad:
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 8 --num-layers 32 \\
    --hidden-size 4096 --num-attention-heads 32 --ffn-hidden-size 11048 --bf16 --fp8-format hybrid

Good:
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 8 --num-layers 32 \\
    --hidden-size 4096 --num-attention-heads 32 --ffn-hidden-size 11008 --bf16 --fp8-format hybrid
""",
}
