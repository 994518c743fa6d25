"""A variable that nobody sets is read: RANK where the launcher means NODE_RANK, or a SLURM variable that
does not exist.

Why:
The number of the node is empty or wrong, so every node calls itself the first. LLaMA-Factory reads
NODE_RANK; torchrun sets RANK for each process itself. What is only printed is a hint, unless `set -u`
ends the script there; an argument that scontrol reads from SLURM_JOB_NODELIST where it is empty is a warning.

Bad:
NNODES=2 RANK=0 MASTER_ADDR=host1 MASTER_PORT=29500 llamafactory-cli train config.yaml

Good:
NNODES=2 NODE_RANK=0 MASTER_ADDR=host1 MASTER_PORT=29500 llamafactory-cli train config.yaml
"""

import difflib
from collections.abc import Iterator

from ....dsl.diagnostics import Severity
from ....reading.bash.trace import Expansion, TracedCommand
from ...facts.commands import place_of_read, prints
from ...facts.launched_job import LaunchedJob, is_script
from ...finding import Complaint, Place

CODE = "PAR606"
TITLE = "an environment variable that nobody sets or reads"
SEVERITY = "error"
SOURCE = "hiyouga/LlamaFactory#5587, #7326; sbatch(1), OUTPUT ENVIRONMENT VARIABLES"
FILE = "train.sh"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    reads = [each for each in launch.config.reads if each.name.startswith("SLURM_")]
    unknown = [each for each in reads if each.name not in KNOWN and not _is_set(launch, each.name)]
    texts = launch.config.texts
    for read in unknown:
        if is_script(read.path, texts.get(read.path, "")) and (near := _near(read.name)):
            help_text, severity = f"did you mean {near}?", _severity(launch, read)
            message = f"SLURM sets no {read.name}"
            yield Complaint(message, place_of_read(read), help=help_text, severity=severity)
    programs = {command.programs[-1] for command in launch.config.trace}
    text = "\n".join(texts.values())
    if "llamafactory-cli" in programs and "NODE_RANK" not in text and "NNODES" in text:
        rank = next((each for each in launch.config.assignments if each.name == "RANK"), None)
        if rank is not None:
            message = "LLaMA-Factory reads NODE_RANK, not RANK: every node is node 0"
            yield Complaint(message, Place(*rank.place, len(rank.name)), help="NODE_RANK=")


def _is_set(launch: LaunchedJob, name: str) -> bool:
    return any(f"{name}=" in text for text in launch.config.texts.values())


def _severity(launch: LaunchedJob, read: Expansion) -> Severity | None:
    """Level of an unset name: printing it does no harm, and scontrol(1) has SLURM_JOB_NODELIST by default;
    `set -u` ends the script all the same."""
    trace = launch.config.trace
    if any(each.place[:2] < read[2:4] and _nounset(each, read.path) for each in trace):
        return None
    by = [each for each in trace if read in each.reads]
    shown = any(prints(each) and not each.captured for each in by)
    lists = any([word.text for word in each.words[:2]] == ["scontrol", "show"] for each in by)
    return "info" if shown else "warning" if lists else None


def _nounset(command: TracedCommand, path: str) -> bool:
    """Whether a command of a script is `set -u`."""
    sets = command.place[0] == path and command.programs[-1] == "set"
    options = [word.lead for word in command.words[1:]] if sets else []
    return any(each == "nounset" or each[:1] == "-" and "u" in each for each in options)


def _near(name: str) -> str | None:
    """A site's plugins set variables of their own, so only what resembles a known one is a slip."""
    near = difflib.get_close_matches(name, sorted(KNOWN), n=1, cutoff=0.85)
    return near[0] if near else None


_KNOWN_WORDS = """
    ACCOUNT ACCTG_FREQ ALLOC_NODELIST ARRAY_JOB_ID ARRAY_TASK_COUNT ARRAY_TASK_ID ARRAY_TASK_MAX
    ARRAY_TASK_MIN ARRAY_TASK_STEP BCAST BITSTR_LEN BURST_BUFFER CLUSTERS CLUSTER_NAME COMPRESS CONF
    CONSTRAINT CONTAINER CONTAINER_ID CORE_SPEC CPUS_ON_NODE CPUS_PER_GPU CPUS_PER_TASK CPU_BIND
    CPU_BIND_LIST CPU_BIND_TYPE CPU_BIND_VERBOSE CPU_FREQ_REQ DEBUG DEBUG_FLAGS DELAY_BOOT
    DEPENDENCY DISABLE_STATUS DISTRIBUTION DIST_LINES DIST_PLANESIZE ENERGY EPILOG ERROR EXACT
    EXCLUSIVE EXIT_ERROR EXIT_IMMEDIATE EXPORT_ENV GPUS GPUS_ON_NODE GPUS_PER_NODE GPUS_PER_SOCKET
    GPUS_PER_TASK GPU_BIND GPU_FREQ GRES GRES_FLAGS GTIDS HET_SIZE HINT IMMEDIATE JOBID JOB_ACCOUNT
    JOB_CPUS_PER_NODE JOB_DEPENDENCY JOB_DERIVED_EC JOB_END_TIME JOB_EXIT_CODE JOB_GID JOB_GPUS
    JOB_GROUP JOB_ID JOB_LICENSES JOB_NAME JOB_NODELIST JOB_NUM_NODES JOB_PARTITION JOB_QOS
    JOB_RESERVATION JOB_RESTART_COUNT JOB_SEGMENT_SIZE JOB_START_TIME JOB_STDERR JOB_STDIN
    JOB_STDOUT JOB_UID JOB_USER KILL_BAD_EXIT LABELIO LAUNCH_NODE_IPADDR LOCALID LOCAL_GLOBALS_FILE
    MEM_BIND MEM_PER_CPU MEM_PER_GPU MEM_PER_NODE MPI_TYPE NETWORK NICE NNODES NODEID NODELIST
    NODE_ALIASES NODE_USE NO_KILL NPROCS NTASKS NTASKS_PER_CORE NTASKS_PER_GPU NTASKS_PER_NODE
    NTASKS_PER_SOCKET NTASKS_PER_TRES OPEN_MODE OVERCOMMIT OVERLAP PARTITION PMI_FD PREEMPTABLE
    PRIO_PROCESS PROCID PROFILE PROLOG PTY_COLOR_UTC QOS REMOTE_CWD REQ_SWITCH RESERVATION
    RESTART_COUNT RESV_PORTS RLIMIT_NOFILE SHARDS_ON_NODE SIGNAL SOCKETS_PER_NODE SPANK SPREAD_JOB
    SRUN_COMM_HOST SRUN_COMM_PORT SRUN_REDUCE_TASK_EXIT STDERRMODE STDINMODE STDOUTMODE STEPID
    STEPMGR STEP_GPUS STEP_ID STEP_KILLED_MSG_NODE_ID STEP_LAUNCHER_PORT STEP_LICENSES STEP_NODELIST
    STEP_NUM_NODES STEP_NUM_TASKS STEP_RESV_PORTS STEP_TASKS_PER_NODE SUBMIT_DIR SUBMIT_HOST
    TASKS_PER_NODE TASK_EPILOG TASK_PID TASK_PROLOG THREADS THREADS_PER_CORE TIMELIMIT TIME_FORMAT
    TOPOLOGY_ADDR TOPOLOGY_ADDR_PATTERN TRES_BIND TRES_FREQ TRES_PER_TASK UMASK UNBUFFEREDIO
    USE_MIN_NODES WAIT WAIT4SWITCH WAIT_ALL_NODES WCKEY WORKING_CLUSTER WORKING_DIR
"""
#: What sbatch and srun set, and what they read (sbatch(1), srun(1) of 25.05).
KNOWN = frozenset(f"SLURM_{name}" for name in _KNOWN_WORDS.split())
