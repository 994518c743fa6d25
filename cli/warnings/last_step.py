"""The tokens are no multiple of the batch, and whole steps train over 1 % more of them.

Why:
Training ends with a whole step. Over a long run the rest of the last one is nothing; over a few steps it is
compute and a comparison that is not at equal tokens.

Bad:
train { seq_len = 8192; global_batch = 1024; tokens = 20M }

Good:
train { seq_len = 8192; global_batch = 1024; steps = 3 }
"""

from collections.abc import Iterator

from parc.dsl.diagnostics import Diagnostic, replaced
from parc.dsl.evaluation.evaluate import plain

from .read_job import ReadJob, warned

CODE = "PAR066"
TITLE = "tokens that are not a multiple of the batch"
SOURCE = ""

#: Share of the tokens from which the rest of the last step is told.
LEAST = 0.01


def check(read: ReadJob) -> Iterator[Diagnostic]:
    train, tokens = read.job.train, read.job.train.tokens
    if tokens is None:
        return
    steps = train.total_steps
    trained = train.sequences_after(steps) * train.seq_len
    if trained / tokens - 1 > LEAST:
        more = f"{trained / tokens - 1:.0%} more than asked for"
        message = f"{plain(steps)} whole steps train {plain(trained)} tokens, {more}"
        span = read.job.span("train", "tokens")
        fix = (
            replaced(span, f"steps = {steps}") if span and span.source == read.file.source else None
        )
        yield warned(CODE, message, span, f"say `steps = {steps}`, or a multiple of the batch", fix)
