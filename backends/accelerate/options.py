"""Settings of `target accelerate { ... }`."""

from typing import Annotated, Literal

from ...dsl.job import Job
from ...dsl.settings import Data, Decides, Doc, Frozen, token_dtype
from ..observation import Interval

#: The releases that the files are written for, of TRL and of what it trains with.
TRL, ACCELERATE, TRANSFORMERS, PEFT = "1.16", "1.15", "5.23", "0.21"
#: Weights in 4 bits are its.
BITSANDBYTES = "0.50"


class Options(Frozen):
    """Settings of `target accelerate` beside the layout. Paths become variables with these defaults."""

    data: Annotated[
        Data | None,
        Doc("a flat file of token ids to train on; made-up sequences unless given"),
        Decides(),
    ] = None
    data_dtype: Annotated[
        Literal["uint16", "uint32"] | None,
        Doc("type of the ids; from the vocabulary unless given"),
        Decides(),
    ] = None
    save: Annotated[
        str | None, Doc("folder for checkpoints, which a restart resumes from; `none` writes none")
    ] = "$RUN_DIR/checkpoints"
    log_interval: Annotated[
        Interval | None, Doc("steps between two log lines; 10, or those of a minute, unless given")
    ] = None


def options_of(job: Job) -> Options:
    """The job's settings for accelerate, or the defaults."""
    found = job.options("accelerate")
    return found if isinstance(found, Options) else Options()


def token_type(job: Job) -> str:
    return options_of(job).data_dtype or token_dtype(job.model.vocab)
