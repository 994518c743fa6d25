"""The nodes of a job do not agree on their meeting point: each names itself, or a host that the others
cannot reach.

Why:
With several nodes `localhost` is another host on each of them. SLURM_LAUNCH_NODE_IPADDR is the host where
srun was called, and SLURM_SUBMIT_HOST that of sbatch: both can be a login node. The job hangs until the
rendezvous times out. A script with --node_rank 0 alone may name localhost: it is the meeting point.

Bad:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
srun torchrun --nnodes 2 --nproc-per-node 8 --rdzv-backend c10d \\
    --rdzv-endpoint localhost:29500 pretrain_gpt.py

Good:
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
hosts=$(scontrol show hostnames "$SLURM_JOB_NODELIST")
MASTER_ADDR=${hosts%%$'\\n'*}
srun torchrun --nnodes 2 --nproc-per-node 8 --rdzv-backend c10d \\
    --rdzv-endpoint "$MASTER_ADDR:29500" pretrain_gpt.py
"""

import re
from collections.abc import Iterator

from ....backends.huggingface.option_rows import KIND, option
from ....compiler.target import Effect
from ....reading.facts import Setting, number_of, text_of
from ...facts.batch import batches
from ...facts.commands import is_default, launchers, ran_by, step_options
from ...facts.launched_job import LaunchedJob
from ...facts.trainer import accelerate_count
from ...finding import Complaint, Place, Related
from .same_rank import PART

CODE = "PAR604"
TITLE = "several nodes without a common rendezvous host"
SEVERITY = "error"
SOURCE = (
    "mlc-ai/pith-train#47, #91; hiyouga/LlamaFactory#7326; pytorch/pytorch#76069; "
    "aws-samples/aws-hpc-tutorials#448; accelerate 1.15 utils/launch.py:215"
)
FILE = "job.sbatch"


_LOCAL = re.compile(r"^(?:localhost|127\.0\.0\.1|::1|0\.0\.0\.0)(?::|$)")
_BAD_SOURCE = re.compile(
    r"^(?>.*?(?:MASTER_ADDR|rdzv[-_]endpoint|master[-_]addr|main_process_ip)).*?"
    r"(SLURM_LAUNCH_NODE_IPADDR|SLURM_SUBMIT_HOST)"
)
#: A command with an option for one of several nodes.
_SEVERAL = re.compile(r"\bNNODES=(?:[2-9]|[1-9]\d+)\s+\S")
_FALLBACK = re.compile(r"\|\|\s*echo\s+[\"']?(?:localhost|127\.0\.0\.1)")
_OWN_NAME = re.compile(
    r"(?:MASTER_ADDR=|--master[-_]addr[= ]|--rdzv[-_]endpoint[= ])[\"']?"
    r"\\?(\$\(\s*hostname\b|`\s*hostname\b|\$\{?HOSTNAME\b|\$\{?SLURMD_NODENAME\b)"
)
_BY_VARIABLE = re.compile(
    r"--(?:rdzv[-_]endpoint|master[-_]addr|main_process_ip)[= ][\"']?\$\{?MASTER_ADDR\b"
)
_HOST = "main_process_ip"
NAMES = ("--rdzv-endpoint", "--master-addr", "--main-process-ip")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    yield from _of_accelerate(launch)
    nodes = launch.number("nodes") or _nodes(launch)
    several = any(True for _ in launch.matches(_SEVERAL))
    if (nodes is None or nodes < 2) and not several:
        return
    related = tuple(Related(f"{nodes} nodes", fact) for fact in [launch.facts.get("nodes")] if fact)
    effect = Effect.STOPS if _one_step(launch) else None
    help_text = (
        'the first host of $SLURM_JOB_NODELIST: scontrol show hostnames "$SLURM_JOB_NODELIST"'
    )
    for setting in _settings(launch) if nodes and nodes > 1 else ():
        text = text_of(setting)
        if (
            text
            and _LOCAL.match(text)
            and not is_default(launch, text.partition(":")[0])
            and not _of_rank(launch)
        ):
            message = (
                f"{nodes} nodes rendezvous at {text}, which is a different host on each of them"
            )
            yield Complaint(message, setting, related, help_text, effect=effect)
    for path, number, line in launch.lines():
        if line.lstrip().startswith("#"):
            continue
        if match := _FALLBACK.search(line):
            place = Place(path, number, match.start() + 1, len(match[0]))
            message = "where scontrol is missing, every node names itself as the rendezvous host"
            yield Complaint(message, place, related, help_text)
        elif match := _BAD_SOURCE.search(line):
            place = Place(path, number, match.start(1) + 1, len(match[1]))
            calls = "sbatch" if "SUBMIT" in match[1] else "srun"
            message = f"{match[1]} is the host that called {calls}, which other nodes may not reach"
            yield Complaint(message, place, related, help_text)
        elif (match := _OWN_NAME.search(line)) and (
            _in_task(line, match.start(1)) or _on_each_node(launch, line)
        ):
            place = Place(path, number, match.start() + 1, len(match[0]))
            message = "every node names itself as the rendezvous host"
            yield Complaint(message, place, related, help_text, effect=effect)


def _one_step(launch: LaunchedJob) -> bool:
    """Whether the job is one launch, which srun starts on all of several nodes."""
    for batch in batches(launch):
        started = launchers(ran_by(launch, batch))
        step = started[0][0].step if len(started) == 1 else None
        if batch.nodes and batch.nodes > 1 and step and PART.isdisjoint(step_options(step)):
            return True
    return False


def _of_accelerate(launch: LaunchedJob) -> Iterator[Complaint]:
    """accelerate writes `None` where no address is given (1.15 utils/launch.py:215); of DeepSpeed's launchers
    `standard` alone is like that, the others ask a hostfile."""
    machines = accelerate_count(launch, "nodes")
    count, host = number_of(machines), launch.setting("yaml", _HOST)
    called = launch.setting("launcher", option(_HOST))
    named = (host is not None and host.values != ("null",)) or called is not None
    if machines is None or count is None or count < 2 or named or not _has_command(launch):
        return
    kind = text_of(launch.setting("yaml", KIND))
    by_hosts = kind == "DEEPSPEED" and _multinode(launch) != "standard"
    if not by_hosts and not launch.given("--use-deepspeed") and not launch.config.hidden:
        message = f"{machines.name} {count} without {_HOST}: each waits for the host `None`"
        help_text = f"--{_HOST} with the address of the first machine"
        yield Complaint(message, machines, help=help_text, effect=Effect.STOPS)


def _has_command(launch: LaunchedJob) -> bool:
    """Whether the command that reads accelerate's configuration is here, which may name the host itself."""
    return launch.config.command is not None and launch.kind.launcher == "accelerate"


def _multinode(launch: LaunchedJob) -> str:
    name = "deepspeed_multinode_launcher"
    setting = launch.setting("yaml", f"deepspeed_config.{name}") or launch.setting(
        "launcher", option(name)
    )
    return text_of(setting) or "pdsh"


def _settings(launch: LaunchedJob) -> list[Setting]:
    found = [launch.setting("launcher", name) for name in NAMES]
    if not any(found) or (_of_variable(launch) and not any(map(text_of, found))):
        found.append(launch.setting("environment", "MASTER_ADDR"))
    return [setting for setting in found if setting is not None]


def _of_variable(launch: LaunchedJob) -> bool:
    """Whether an option names the host by the variable: its port may then be one that nobody can tell."""
    return any(_BY_VARIABLE.search(line) for _, _, line in launch.lines())


def _of_rank(launch: LaunchedJob) -> bool:
    """Whether a script is for the node of one rank: rank 0 is its own meeting point, and what runs beside it
    on the same machine finds it there too."""
    rank = number_of(launch.setting("launcher", "--node-rank", "--machine-rank"))
    if rank is None:
        rank = number_of(launch.setting("environment", "NODE_RANK"))
    static = launch.setting("launcher", "--rdzv-endpoint") is None
    return rank is not None and static and not launch.all("sbatch")


def _nodes(launch: LaunchedJob) -> int | None:
    return number_of(launch.setting("launcher", "--nnodes", "--num-machines"))


def _in_task(line: str, at: int) -> bool:
    """Whether a shell that srun starts on every node expands what begins at a place: the batch shell, on the
    first node alone, expands all that no single quotes or backslash keep from it."""
    step = line.find("srun")
    if not 0 <= step < at:
        return False
    return line[at - 1] == "\\" or _in_single_quotes(line[:at])


def _in_single_quotes(text: str) -> bool:
    """Whether a text ends within single quotes."""
    quote = ""
    characters = iter(text)
    for character in characters:
        if character == "\\" and quote != "'":
            next(characters, "")
        elif character == quote:
            quote = ""
        elif not quote and character in "\"'":
            quote = character
    return quote == "'"


def _on_each_node(launch: LaunchedJob, line: str) -> bool:
    """Whether the line itself starts the node's part of a job of several nodes."""
    return _SEVERAL.search(line) is not None and not any(
        "#SBATCH" in text for text in launch.config.texts.values()
    )
