"""Batch, optimizer, precision, data, checkpoint and logging options."""

from ....compiler.plan import Plan
from ..target import TRAITS
from .flags import Flag, flag, switches, variable


def batch_flags(plan: Plan) -> list[Flag]:
    train, layout = plan.job.train, plan.layout
    replicas = f"{layout.microbatches} micro-batches on each of {layout.dp} replicas"
    length = f"{train.global_batch * train.seq_len:,} tokens a step"
    if train.steps is None and train.tokens is not None:
        length += f", {train.tokens:,} in all"
    return [
        flag("--micro-batch-size", layout.micro_batch),
        flag("--global-batch-size", train.global_batch, why=replicas),
        flag("--train-iters", train.total_steps, why=length),
    ]


def optimizer_flags(plan: Plan) -> list[Flag]:
    train = plan.job.train
    momenta = {
        "adam": [flag("--adam-beta1", train.beta1), flag("--adam-beta2", train.beta2)],
        "sgd": [flag("--sgd-momentum", train.beta1)],
        "muon": [
            flag("--muon-momentum", train.beta1),
            flag("--adam-beta1", train.beta1, why="for embeddings and norms"),
            flag("--adam-beta2", train.beta2),
        ],
    }
    return [
        flag("--optimizer", train.optimizer),
        *momenta[train.optimizer],
        flag("--weight-decay", train.weight_decay),
        flag("--clip-grad", train.clip_grad),
        *_schedule(plan),
    ]


def _schedule(plan: Plan) -> list[Flag]:
    """Megatron-LM wants the decay to outlast the warm-up; a shorter run stops inside it."""
    train = plan.job.train
    found = [flag("--lr", train.learning_rate), flag("--lr-decay-style", train.schedule)]
    if train.schedule != "constant":
        found.append(flag("--min-lr", train.min_learning_rate))
    return [
        *found,
        flag("--lr-decay-iters", max(train.total_steps, train.warmup + 1)),
        flag("--lr-warmup-iters", train.warmup),
    ]


def precision_flags(plan: Plan) -> list[Flag]:
    return {
        "bf16": switches("--bf16"),
        "fp16": [
            flag("--fp16"),
            flag(
                "--accumulate-allreduce-grads-in-fp32",
                why="bf16 does this by itself, fp16 does not",
            ),
        ],
        "fp8": [
            flag("--bf16"),
            flag("--fp8-format", "hybrid", why="e4m3 forward, e5m2 gradients"),
            flag("--fp8-recipe", "delayed"),
            flag("--fp8-amax-history-len", 1024),
            flag("--fp8-amax-compute-algo", "max"),
        ],
        "mxfp8": [
            flag("--bf16"),
            flag("--fp8-format", "e4m3"),
            flag("--fp8-recipe", "mxfp8", why="one scale for each 32 values"),
        ],
    }[plan.job.train.precision]


def data_flags(plan: Plan) -> list[Flag]:
    options = plan.options
    found = [variable("--data-path", "DATA_PATH")] if options.data else switches("--mock-data")
    found.append(flag("--split", options.split))
    if options.data_cache:
        found.append(variable("--data-cache-path", "DATA_CACHE"))
    side = plan.job.train.seq_len
    why = f"attention is causal by itself; a {side} x {side} mask is not loaded"
    return [
        *found,
        flag("--no-create-attention-mask-in-dataloader", why=why),
        *_vocabulary(plan),
        flag("--seed", plan.job.train.seed),
    ]


def _vocabulary(plan: Plan) -> list[Flag]:
    """The model keeps its own vocabulary, padded as the plan priced it, whatever the tokenizer's is."""
    options, vocab = plan.options, plan.job.model.vocab
    if not options.tokenizer:
        return [flag("--tokenizer-type", "NullTokenizer"), flag("--vocab-size", vocab)]
    multiple = TRAITS.tensor.vocab_multiple * plan.layout.tp
    padded = -(-vocab // multiple) * multiple
    return [
        flag("--tokenizer-type", options.tokenizer_type),
        variable("--tokenizer-model", "TOKENIZER"),
        flag("--padded-vocab-size", padded, why=f"{vocab} to a multiple of {multiple}"),
    ]


def checkpoint_flags(plan: Plan) -> list[Flag]:
    options, train = plan.options, plan.job.train
    sharded = plan.layout.zero >= 2
    if not options.save:
        why = "Megatron-FSDP demands it, checkpoints or not"
        return [flag("--ckpt-format", "fsdp_dtensor", why=why)] if sharded else []
    return [
        variable("--save", "CHECKPOINT_DIR"),
        variable("--load", "CHECKPOINT_DIR"),
        flag("--save-interval", train.checkpoint_interval),
        flag("--ckpt-format", "fsdp_dtensor" if sharded else "torch_dist"),
        flag("--exit-signal-handler", why="SIGTERM saves, then stops"),
    ]


def logging_flags(plan: Plan) -> list[Flag]:
    options = plan.options
    found = [
        flag("--log-interval", options.log_interval),
        flag("--log-throughput"),
        flag("--eval-interval", options.eval_interval),
        flag("--eval-iters", options.eval_iters),
    ]
    if options.tensorboard or options.wandb:
        found.append(variable("--tensorboard-dir", "TENSORBOARD_DIR"))
    if options.wandb:
        # training.py sends to Weights & Biases only what it also writes for TensorBoard.
        found += [
            flag("--wandb-project", options.wandb),
            flag("--wandb-exp-name", plan.job.name),
            variable("--wandb-save-dir", "TENSORBOARD_DIR"),
        ]
    return found
