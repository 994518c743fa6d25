"""Optimizer, precision, checkpoint, logging and profiling options."""

import math

from ....compiler.plan import Plan
from ...observation import curves, log_interval
from ...timeouts import first_seconds, later_seconds
from ..options import Options, option_name
from ..releases import has
from ..resume import RESHARDABLE
from ..stack import WHOLE_STEP, fused_loss
from ..transformer_engine import FORMATS, recipe_of
from .environment import TRACES
from .flags import Flag, flag, paths, switches, variable
from .schedule import rate_flags
from .weights import carries_all


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
        *_moments(plan.options),
        flag("--clip-grad", train.clip_grad),
        *rate_flags(plan),
    ]


def _moments(options: Options) -> list[Flag]:
    if options.moment_dtype == "fp32":
        return []
    return [
        flag("--use-precision-aware-optimizer", why="moments in half the bytes"),
        flag("--exp-avg-dtype", options.moment_dtype),
        flag("--exp-avg-sq-dtype", options.moment_dtype),
    ]


def precision_flags(plan: Plan) -> list[Flag]:
    flags = _precision_flags(plan)
    if plan.options.grad_dtype == "bf16":
        why = "half the bytes to keep and to reduce; fp32 unless given"
        flags.append(flag("--grad-reduce-in-bf16", why=why))
    return flags


def _precision_flags(plan: Plan) -> list[Flag]:
    recipe = recipe_of(plan.job)
    if recipe is not None:
        return _fp8(recipe)
    return {
        "nvfp4": [
            flag("--bf16"),
            flag("--fp4-format", "e2m1"),
            flag(
                "--fp4-recipe", "nvfp4", why="one scale for each 16 values, and one for the tensor"
            ),
        ],
        "bf16": switches("--bf16"),
        "fp16": [
            flag("--fp16"),
            flag(
                "--accumulate-allreduce-grads-in-fp32",
                why="bf16 does this by itself, fp16 does not",
            ),
        ],
    }[plan.job.train.precision]


#: What a recipe means, and what a format.
_RECIPES = {
    "delayed": "",
    "tensorwise": "one scale for each tensor, from its own maximum",
    "blockwise": "one scale for each 128 values, or 128 x 128 of a weight",
    "mxfp8": "one scale for each 32 values",
}
_FORMATS = {"hybrid": "e4m3 forward, e5m2 gradients", "e4m3": ""}


def _fp8(recipe: str) -> list[Flag]:
    form = FORMATS[recipe]
    found = [
        flag("--bf16"),
        flag("--fp8-format", form, why=_FORMATS[form]),
        flag("--fp8-recipe", recipe, why=_RECIPES[recipe]),
    ]
    if recipe == "delayed":
        found += [
            flag("--fp8-amax-history-len", 1024),
            flag("--fp8-amax-compute-algo", "max"),
        ]
    return found


def kernel_flags(plan: Plan) -> list[Flag]:
    """The loss, and how kernels are launched."""
    found = []
    if fused_loss(plan.job):
        why = "steps of the loss compiled together"
        found.append(flag("--cross-entropy-loss-fusion", why=why))
    if plan.options.cuda_graph:
        found += [
            flag("--cuda-graph-impl", WHOLE_STEP, why="a step's kernels in one launch"),
            flag("--te-rng-tracker", why="random numbers that a graph can draw"),
            flag("--no-check-for-nan-in-loss-and-grad", why="the host would have to look"),
        ]
    return found


def checkpoint_flags(plan: Plan) -> list[Flag]:
    options, train = plan.options, plan.job.train
    sharded = plan.layout.zero >= 2
    if not options.save:
        why = "Megatron-FSDP demands it, checkpoints or not"
        return [flag("--ckpt-format", "fsdp_dtensor", why=why)] if sharded else []
    return [
        variable("--save", "CHECKPOINT_DIR"),
        variable("--load", "LOAD_DIR" if carries_all(plan.job) else "CHECKPOINT_DIR"),
        flag("--save-interval", plan.checkpoint_interval),
        flag("--ckpt-format", "fsdp_dtensor" if sharded else "torch_dist"),
        *_reshardable(plan),
        *_retention(plan),
        *(_asynchronous(plan, sharded) if train.async_checkpoints else []),
        flag("--exit-signal-handler", why="SIGTERM saves, then stops"),
    ]


def _reshardable(plan: Plan) -> list[Flag]:
    """The distributed optimizer's state by weight, not by the buffers of the ranks that divide it. 0.14 has
    no other form (core_v0.14.0 checkpointing.py:374)."""
    if not has(plan.job, RESHARDABLE) or not reshardable(plan):
        return []
    return [flag(RESHARDABLE, why="moments that any tp, pp and dp can load")]


def reshardable(plan: Plan) -> bool:
    """Whether a distributed optimizer's state is saved by weight."""
    return plan.layout.zero == 1 and (plan.job.elastic or not has(plan.job, RESHARDABLE))


def _retention(plan: Plan) -> list[Flag]:
    """Megatron-LM deletes the older of two checkpoints unless its step is a multiple of an interval
    (checkpointing.py iter_finalize_fn): with one that the run does not reach, only the newest stays.
    """
    train, found = plan.job.train, plan.checkpoints
    if not found.keep or found.kept == found.written:
        return []
    if train.keep_checkpoints:
        beyond = (train.total_steps // found.interval_steps + 1) * found.interval_steps
        why = "past the end of the run: only the newest checkpoint stays"
        return [flag("--save-retain-interval", beyond, why=why)]
    why = f"about {found.kept} of {found.written:,} checkpoints stay, and the newest"
    return [flag("--save-retain-interval", found.retained_steps, why=why)]


def _asynchronous(plan: Plan, sharded: bool) -> list[Flag]:
    """arguments.py:1740 drops --async-save without a persistent worker.

    checkpointing.py:872 hands fsdp_dtensor's writer `enable_cache`, which only nvidia-resiliency-ext takes.
    Before 0.17 Megatron-LM's own writer is the only one.
    """
    why = "training goes on while a process of its own writes"
    found = [flag("--async-save", why=why), flag("--use-persistent-ckpt-worker")]
    if not has(plan.job, "--async-strategy"):
        return found
    strategy, needs = ("nvrx", "needs") if sharded else ("mcore", "needs no")
    why = f"{needs} package nvidia-resiliency-ext"
    return [*found, flag("--async-strategy", strategy, why=why)]


#: The limits of collectives, and the one that holds after the first step (training.py:3745 of 0.19.2).
LIMITS, AFTERWARDS = "--distributed-timeout-", "--distributed-timeout-seconds-after-init"
#: Steps between collections of Python's garbage: that of Megatron-Bridge's recipes (manual_gc_interval).
COLLECTED_EVERY = 100


def distributed_flags(plan: Plan) -> list[Flag]:
    return [*_garbage(plan.options), *_timeouts(plan), *_traces(plan)]


def _timeouts(plan: Plan) -> list[Flag]:
    """Minutes until the first step ends, and seconds afterwards; a single limit before 0.15. Left to `extra`
    where that says anything of it."""
    given = plan.job.train.collective_timeout
    if given is None and any(option_name(key).startswith(LIMITS) for key in plan.options.extra):
        return []
    minutes = max(1, math.ceil(first_seconds(plan) / 60))
    if given is not None or not has(plan.job, AFTERWARDS):
        why = "after which a collective that hangs ends the job"
        return [flag("--distributed-timeout-minutes", minutes, why=why)]
    why = "until the first step ends: the index of the data is built"
    then = "afterwards a collective that hangs so long ends the job"
    return [
        flag("--distributed-timeout-minutes", minutes, why=why),
        flag(AFTERWARDS, math.ceil(later_seconds(plan)), why=then),
    ]


def _traces(plan: Plan) -> list[Flag]:
    if not has(plan.job, TRACES):
        return []
    why = "what each rank did last where a collective hangs, for torchfrtrace"
    return [
        paths(TRACES, "$RUN_LOGS/nccl_rank_", why=why),
        flag("--flight-recorder-include-stack-trace"),
    ]


def _garbage(options: Options) -> list[Flag]:
    """Left to `extra` where that says anything of it."""
    if any(option_name(key).startswith("--manual-gc") for key in options.extra):
        return []
    why = "Python collects garbage on all ranks in one step: none waits for another's"
    return [flag("--manual-gc", why=why), flag("--manual-gc-interval", COLLECTED_EVERY)]


def logging_flags(plan: Plan) -> list[Flag]:
    options = plan.options
    found = [
        flag("--log-interval", log_interval(plan)),
        flag("--log-throughput"),
        *_evaluation(options),
    ]
    board, project = curves(plan.job, options)
    if board or project or options.profiled:
        found.append(variable("--tensorboard-dir", "TENSORBOARD_DIR"))
    if project:
        # training.py sends to Weights & Biases only what it also writes for TensorBoard.
        found += [
            flag("--wandb-project", project, why="needs `pip install wandb`"),
            flag("--wandb-exp-name", plan.job.name),
            variable("--wandb-save-dir", "TENSORBOARD_DIR"),
        ]
    return found + _profile(options)


def _evaluation(options: Options) -> list[Flag]:
    unseen = options.train_data and not (options.valid_data or options.test_data)
    return [
        flag("--eval-interval", options.eval_interval),
        flag(
            "--eval-iters",
            0 if unseen else options.eval_iters,
            why="no data for validation are named" if unseen else "",
        ),
    ]


def _profile(options: Options) -> list[Flag]:
    """PyTorch's profiler records from the first step until before the last (training.py, its schedule), and
    writes beside the folder of TensorBoard."""
    if options.profiled is None:
        return []
    first, last = options.profiled
    return [
        flag("--profile", why="a trace in torch_profile beside the folder of TensorBoard"),
        flag("--use-pytorch-profiler"),
        flag("--profile-step-start", first),
        flag("--profile-step-end", last + 1, why=f"step {last} is the last recorded"),
        flag("--profile-ranks", 0, why="one rank; without it all of them write"),
    ]
