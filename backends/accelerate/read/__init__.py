"""Commands of accelerate that start parc's own train.py, and its log -> facts."""

from ...environment import RECORDER
from ...huggingface.kept import kept
from ...reader import Reader
from .described import model, train
from .jobs import job
from .log import read_log
from .target_block import expressed, options

#: What the emitted scripts set.
VARIABLES = frozenset(
    {
        "PYTORCH_CUDA_ALLOC_CONF",
        "PET_REDIRECTS",
        "PET_SIGNALS_TO_HANDLE",
        "TORCH_ELASTIC_SHUTDOWN_TIMEOUT",
        "TENSORBOARD_LOGGING_DIR",
        *(each.name for each in RECORDER),
    }
)
READER = Reader(
    recognise=job,
    log=read_log,
    model=model,
    train=train,
    options=options,
    says=expressed,
    variables=VARIABLES,
    kept=kept,
    asked_first=True,
)
