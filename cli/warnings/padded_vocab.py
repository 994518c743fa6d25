"""The vocabulary is padded by over 1 %.

Why:
Megatron-LM pads the vocabulary to a multiple of 128 times tp, so that every rank has as many rows. The rows
that no token has cost memory and FLOP of the embedding and of the output. A tokenizer's spare entries cost
no more.

Bad:
model { layers = 12; hidden = 768; heads = 12; ffn = 3072; vocab = 5000 }
target megatron { data = "/data/text" }

Good:
model { layers = 12; hidden = 768; heads = 12; ffn = 3072; vocab = 5120 }
target megatron { data = "/data/text" }
"""

from collections.abc import Iterator

from parc.backends import TARGETS
from parc.compiler.model.parameters import padded_vocab
from parc.dsl.diagnostics import Diagnostic
from parc.dsl.evaluation.evaluate import plain
from parc.dsl.expression import Call, Const, Name
from parc.dsl.job import Job

from .read_job import ReadJob, warned

CODE = "PAR067"
TITLE = "a vocabulary padded by over 1 %"
SOURCE = "Megatron-LM core_v0.19.0, megatron/training/arguments.py: --make-vocab-size-divisible-by"

#: Share of the vocabulary from which the padding is told.
LEAST = 0.01


def check(read: ReadJob) -> Iterator[Diagnostic]:
    job = read.job
    tp = _required_tp(job)
    for name in (spec.name for spec in job.targets):
        multiple = TARGETS[name].target.traits.tensor.vocab_multiple
        padded = int(padded_vocab(job.model, tp, multiple))
        if multiple > 1 and padded / job.model.vocab - 1 > LEAST:
            message = (
                f"{name} pads the vocabulary of {plain(job.model.vocab)} to {plain(padded)}, a multiple of "
                f"{multiple} times tp {tp}: {padded / job.model.vocab - 1:.1%} more"
            )
            help = f"`vocab = {padded}` says what is trained"
            yield warned(CODE, message, job.span("model", "vocab"), help)


def _required_tp(job: Job) -> int:
    """The tp that the goal requires; 1, with the least padding, where it leaves several."""
    for constraint in job.goal.constraints:
        match constraint.kind, constraint.expression:
            case "require", Call("==", (Name("tp"), Const(value))) | Call(
                "==", (Const(value), Name("tp"))
            ):
                return int(value)
    return 1
