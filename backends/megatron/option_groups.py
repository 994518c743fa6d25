"""Options of Megatron-LM that several modules ask for together: what a run needs, what only training has."""

from .option_rows import HALVES, ROWS

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
LAYOUT = "--pipeline-model-parallel-layout"
#: Layers of the first and the last stage.
ENDS = ("--decoder-first-pipeline-num-layers", "--decoder-last-pipeline-num-layers")
#: Options that split layers in another way, or models whose layers are counted otherwise.
SPLIT_OTHERWISE = (
    LAYOUT,
    *ENDS,
    "--encoder-num-layers",
    "--hybrid-override-pattern",
    "--hybrid-layer-pattern",
    "--is-hybrid-model",
    "--partition-method",
    "--pp-partition-method",
    "--custom-partition",
    "--noop-layers",
    "--num-layer-list",  # MindSpeed-LLM: the layers of each stage
    "--layerwise-disaggregated-training",  # MindSpeed-LLM: stages of several sites
)
#: Options that count an end of the model as a layer.
COUNTED = {
    "--account-for-embedding-in-pipeline-split": "embedding",
    "--account-for-loss-in-pipeline-split": "loss",
}
#: Layers of a virtual stage, and virtual stages of a rank.
PER_STAGE = "--num-layers-per-virtual-pipeline-stage"
CHUNKS = ("--num-virtual-stages-per-pipeline-rank", "--virtual-pipeline-model-parallel-size")
#: Recomputed layers, and how they are counted, in the words of all releases.
RECOMPUTED_LAYERS = (
    "--recompute-num-layers",
    "--checkpoint-num-layers",
    "--activations-checkpoint-num-layers",
)
RECOMPUTE_METHODS = ("--recompute-method", "--activations-checkpoint-method")
#: Megatron-LM only warns of CUDA_DEVICE_MAX_CONNECTIONS with it (arguments.py:1466): it wants several.
EXCHANGE = "--overlap-moe-expert-parallel-comm"
FSDP_SWITCHES = ("--use-megatron-fsdp", "--use-torch-fsdp2", "--use-custom-fsdp")
#: Options that make a training narrower than fp32, what a whole training says beside its model, and options
#: by which its precision may come from elsewhere.
NARROW = (*HALVES, "--fp8-format", "--fp8", "--fp4-format", "--params-dtype")
LENGTHS = (ROWS.setting("train", "steps").name, "--train-samples")
PRECISION_ELSEWHERE = ("--use-checkpoint-args", "--yaml-cfg", "--config-file", "--deepspeed")
#: Options whose words forks add to.
EXTENDED = ("--tokenizer-type",)
#: --make-vocab-size-divisible-by unless given: the vocabulary is padded to a multiple of that times tp.
VOCAB_MULTIPLE = 128
