"""An option that torchrun does not have, a count that is no number, or a port that does not exist.

Why:
torchrun ends before it has started a process. The store where ranks meet refuses a port above 65535.

Bad:
torchrun --nnodes 1 --nproc-per-nodes 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096

Good:
torchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096
"""

import difflib
import re
from collections.abc import Iterator

from ....reading.facts import dashed, number_of, text_of
from ....reading.placeholders import is_placeholder
from ....reading.sbatch_names import LONG_NAMES as BATCH
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR610"
TITLE = "an option that torchrun does not have or cannot read"
SEVERITY = "error"
SOURCE = (
    "torch 2.13.0 torch/distributed/run.py, get_args_parser; measured: TCPStore refuses port 66664"
)

_KNOWN_WORDS = """
    --duplicate-stderr-filters --duplicate-stdout-filters --event-log-handler --help --local-addr
    --local-ranks-filter --log-dir --logs-specs --master-addr --master-port --max-restarts --module
    --monitor-interval --nnodes --no-python --node-rank --nproc-per-node --numa-binding --rdzv-backend
    --rdzv-conf --rdzv-endpoint --rdzv-id --redirects --role --run-path --shutdown-timeout
    --signals-to-handle --standalone --start-method --tee --virtual-local-rank --use-env --use_env
"""
_ACCELERATE = "--main-process-port"
PORTS = ("--master-port", _ACCELERATE)
#: RFC 9293: the field of a port has 16 bits.
LAST_PORT = 65535
KNOWN = frozenset(_KNOWN_WORDS.split())
#: Options of srun, which stand before those of torchrun.
STEP = BATCH | {
    "kill-on-bad-exit",
    "label",
    "mpi",
    "overlap",
    "exact",
    "unbuffered",
    "multi-prog",
    "pty",
}
_OTHERS = re.compile(
    r"\bdeepspeed\s|\baccelerate\b|\bmpirun\b|\bmpiexec\b|\bswift\b|\bhorovodrun\b"
)
_COUNTS = {
    "--nproc-per-node": r"\d+|auto|gpu|cpu|xpu",
    "--nnodes": r"\d+(:\d+)?",
    "--node-rank": r"\d+",
    "--master-port": r"\d+",
    "--max-restarts": r"\d+",
}


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    texts = launch.config.texts.values()
    torchrun = any(re.search(r"\btorchrun\b|torch\.distributed\.run\b", text) for text in texts)
    yield from _ports(launch)
    if not torchrun or any(_OTHERS.search(text) for text in texts):
        return
    for setting in launch.all("launcher"):
        name = dashed(setting.name.partition("=")[0])
        pattern, text = _COUNTS.get(name), text_of(setting)
        if name.startswith("--") and name not in KNOWN and name[2:] not in STEP:
            near = difflib.get_close_matches(name, sorted(KNOWN), n=1, cutoff=0.8)
            if near and not _abbreviates(name):
                message = f"torchrun has no option {setting.name}"
                yield Complaint(message, setting, help=f"did you mean {near[0]}?")
        elif (
            pattern
            and re.fullmatch(r"[\w:+-]+", text or "")
            and not is_placeholder(text or "")
            and not re.fullmatch(pattern, text or "")
        ):
            yield Complaint(f"{setting.name} cannot be `{text}`", setting)


def _ports(launch: LaunchedJob) -> Iterator[Complaint]:
    """The port of every launcher; a TCP port has 16 bits."""
    setting = launch.setting("launcher", *PORTS)
    port = number_of(setting)
    if setting is None or port is None or port <= LAST_PORT:
        return
    if dashed(setting.name) == _ACCELERATE or not _meets_elsewhere(launch):
        yield Complaint(f"port {port} is above {LAST_PORT}, the last one", setting)


def _meets_elsewhere(launch: LaunchedJob) -> bool:
    """Whether torchrun leaves --master-port unread, as get_rdzv_endpoint of its run.py does: ranks meet at a
    port that --standalone finds free, at an endpoint, or by another backend than `static`."""
    if launch.setting("launcher", "--standalone", "--rdzv-endpoint"):
        return True
    backend = launch.setting("launcher", "--rdzv-backend")
    return backend is not None and text_of(backend) != "static"


def _abbreviates(name: str) -> bool:
    """torchrun's parser takes the beginning of an option for the whole."""
    return sum(option.startswith(name) for option in KNOWN) == 1
