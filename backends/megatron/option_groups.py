"""Options of Megatron-LM that several modules ask for together: what a run needs, what only training has."""

from .option_rows import ROWS

#: Each with the other names under which it may be given.
NEEDED = (
    ("--num-layers", "--encoder-num-layers", "--hybrid-layer-pattern", "--hybrid-override-pattern"),
    ("--hidden-size",),
    ("--num-attention-heads",),
    ("--max-position-embeddings",),
    ("--micro-batch-size", "--batch-size"),
    ("--seq-length", "--encoder-seq-length"),
    ("--train-iters", "--train-samples", "--train-tokens", "--epochs", "--train-epochs"),
    ("--lr",),
    # The programs have a default (args_defaults), whose tokenizer reads --vocab-file.
    ("--tokenizer-type", "--vocab-file", "--tokenizer-name-or-path", "--tokenizer-path"),
)
#: pretrain_gpt.py:527 and its kin call with `args_defaults={'tokenizer_type': ...}`.
HAS_DEFAULT = "--tokenizer-type"
#: What all have needed since v1.0 (required_args of megatron/arguments.py).
ALWAYS = ("--num-layers", "--hidden-size", "--num-attention-heads", "--max-position-embeddings")
#: Folders of a run are made up where it starts; values that a wrapper gives are others.
FOLDERS = (
    "--save",
    "--load",
    "--tensorboard-dir",
    "--wandb-save-dir",
    "--data-cache-path",
    "--flight-recorder-dump-path",
)
#: Where these are, options may come from elsewhere.
ELSEWHERE = (
    "--yaml-cfg",
    "--use-checkpoint-args",
    "--config-file",
    "--model-name",
    "--megatron-config",
    "--retro-project-dir",
    "--args-file",
    "--skip-train",
    "--eval-only",
    "--finetune",
)
#: Options that say how a job is laid out; a site may set others from outside.
LAID_OUT = frozenset(
    row.name for row in ROWS.rows if row.fact or (row.positive and row.owner in ("model", "layout"))
) | {"--expert-tensor-parallel-size", "--zero-stage"}
#: Options of training, and not of inference or conversion.
TRAINS = ("--train-iters", "--train-samples", "--lr")
#: The switch of latent attention, and Megatron-DeepSpeed's against its engine of pipelines.
LATENT, NO_PIPELINE = "--multi-latent-attention", "--no-pipeline-parallel"
