"""An option that Megatron-LM cannot do without is missing.

Why:
It stops at start with a bare assertion. Where the release is named that is an error. Else the four options
that every release has needed are a warning, and the others a hint.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 \\
    --num-attention-heads 32 --seq-length 4096 \\
    --max-position-embeddings 4096 --train-iters 1000 --lr 3e-4 \\
    --tokenizer-type NullTokenizer --vocab-size 32000

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 \\
    --num-attention-heads 32 --seq-length 4096 \\
    --max-position-embeddings 4096 --micro-batch-size 1 --train-iters 1000 --lr 3e-4 \\
    --tokenizer-type NullTokenizer --vocab-size 32000
"""

from collections.abc import Iterator

from ....reading.facts import Unknown
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Place
from .megatron_program import starts_megatron
from .option_value import lacks_values

CODE = "PAR374"
TITLE = "an option that Megatron-LM needs is missing"
SEVERITY = "error"
SOURCE = "NVIDIA/Megatron-LM@d98e8a64 megatron/training/arguments.py:1312-1330"
RELEASE_BOUND = True
OPTIONS = ("--framework-version", "megatron=0.19")


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
_HAS_DEFAULT = "--tokenizer-type"
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


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    options = launch.all("argument")
    if not launch.megatron or launch.given(*ELSEWHERE) or not options or lacks_values(launch):
        return
    if any(
        option.name == "" or any(isinstance(v, Unknown) for v in option.values)
        for option in options
        if option.name not in FOLDERS
    ):
        return
    missing = [names[0] for names in NEEDED if not launch.given(*names)]
    # A command that gives few of them leaves them to a wrapper.
    named = [name for name in missing if name != _HAS_DEFAULT]
    if not named or len(missing) > 2 or not starts_megatron(launch):
        return
    first = options[0]
    place = Place(first.path, first.line, first.column, len(first.name))
    always = all(name in ALWAYS for name in named)
    severity = launch.release("megatron").severity("warning" if always else "info")
    verb = "is" if len(named) == 1 else "are"
    yield Complaint(f"{' and '.join(named)} {verb} missing", place, severity=severity)
